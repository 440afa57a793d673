/* OpenSSL in programs with threads. */
#ifndef DRDOTNET_CRYPTO_H
#define DRDOTNET_CRYPTO_H

/* First of all in main(). At exit() OpenSSL frees what it holds for each thread, while a thread that ends just then frees the same: the heap is
 * damaged, and the C library ends a program that has done its work. So nothing is freed at exit(); the process's memory goes with it. */
void crypto_stay(void);

#endif
