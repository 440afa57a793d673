/* Takes a file into the program: `symbol` are its bytes, `symbol`_end is behind them, where a NUL stands. */
#ifndef DRDOTNET_EMBED_H
#define DRDOTNET_EMBED_H

/* The assembler takes the file in; its path is relative to where make runs. */
#define EMBED_FILE(section, symbol, path)                     \
	__asm__(".pushsection " section ",\"a\"\n"            \
		".global " #symbol "\n" #symbol ":\n"         \
		".incbin \"" path "\"\n"                      \
		".global " #symbol "_end\n" #symbol "_end:\n" \
		".byte 0\n"                                   \
		".popsection\n");                             \
	extern const char symbol[], symbol##_end[]

#endif
