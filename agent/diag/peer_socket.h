/* Sockets whose other end is a pod's. */
#ifndef DRDOTNET_PEER_SOCKET_H
#define DRDOTNET_PEER_SOCKET_H

#include <sys/socket.h>

#ifndef SO_PASSRIGHTS
#define SO_PASSRIGHTS 83 /* Linux 6.16 */
#endif

/* Nobody passes us descriptors: closing one of another's making may take long. To be called before connect or bind; older
 * kernels refuse this and drop what comes. */
static inline void peer_socket_refuse_descriptors(int fd)
{
	setsockopt(fd, SOL_SOCKET, SO_PASSRIGHTS, &(int){0}, sizeof(int));
}

#endif
