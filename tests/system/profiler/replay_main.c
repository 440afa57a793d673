/* replay_X FILE...: gives each file to a fuzzer's function once, without libFuzzer: for machines that it is not built for. */
#include <stdint.h>
#include <stdio.h>

#define MAX_INPUT (1u << 18)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	static uint8_t data[MAX_INPUT];

	for (int i = 1; i < argc; i++) {
		FILE *f = fopen(argv[i], "rb");
		if (!f)
			return 2;
		size_t size = fread(data, 1, sizeof data, f);
		fclose(f);
		LLVMFuzzerTestOneInput(data, size);
	}
	printf("%d replayed\n", argc - 1);
	return argc > 1 ? 0 : 2;
}
