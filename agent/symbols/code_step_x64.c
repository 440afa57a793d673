#include "agent/symbols/code_step_x64.h"

#include <string.h>

#define RSP 4
#define RBP 5

enum operands { NO_OPERAND, MODRM, IMM8, IMM32, MODRM_IMM8, MODRM_IMM32, IMM16, IMM64, IMM24, BAD };

struct parts {
	const uint8_t *code;
	size_t at;       /* behind the opcode */
	uint8_t rex, op;
	bool narrow, two, has_rex; /* 66; the opcodes behind 0F */
	uint8_t modrm;
	unsigned mod, reg, rm;
	size_t displacement_at;
	int64_t displacement, immediate;
};

static int64_t read_signed(const uint8_t *at, size_t bytes)
{
	uint64_t v = 0;
	for (size_t i = 0; i < bytes; i++)
		v |= (uint64_t)at[i] << 8 * i;
	return bytes == 1 ? (int8_t)v : bytes == 2 ? (int16_t)v : bytes == 4 ? (int32_t)v : (int64_t)v;
}

static enum operands operands_of_one(uint8_t op, const uint8_t *next)
{
	if (op < 0x40)
		return (op & 7) < 4 ? MODRM : (op & 7) == 4 ? IMM8 : (op & 7) == 5 ? IMM32 : BAD;
	if (op < 0x60 || (op >= 0x90 && op < 0xa0 && op != 0x9a) || (op >= 0xa4 && op < 0xa8) || (op >= 0xaa && op < 0xb0))
		return NO_OPERAND;
	if (op >= 0xb8 && op < 0xc0)
		return IMM32;
	if ((op >= 0x70 && op < 0x80) || (op >= 0xb0 && op < 0xb8) || (op >= 0xe0 && op < 0xe8))
		return IMM8;
	if ((op >= 0x84 && op < 0x90) || (op >= 0xd0 && op < 0xd4) || (op >= 0xd8 && op < 0xe0))
		return MODRM;
	if (op >= 0xa0 && op < 0xa4)
		return IMM64;
	switch (op) {
	case 0x63: case 0xfe: case 0xff:
		return MODRM;
	case 0x68: case 0xa9: case 0xe8: case 0xe9:
		return IMM32;
	case 0x6a: case 0xa8: case 0xcd: case 0xeb:
		return IMM8;
	case 0x69: case 0x81: case 0xc7:
		return MODRM_IMM32;
	case 0x6b: case 0x80: case 0x83: case 0xc0: case 0xc1: case 0xc6:
		return MODRM_IMM8;
	case 0xf6: case 0xf7:
		return (*next >> 3 & 7) > 1 ? MODRM : op == 0xf6 ? MODRM_IMM8 : MODRM_IMM32;
	case 0xc2:
		return IMM16;
	case 0xc8:
		return IMM24;
	case 0xc3: case 0xc9: case 0xcc: case 0xf4: case 0xf5: case 0xf8: case 0xf9: case 0xfc: case 0xfd:
		return NO_OPERAND;
	default:
		return BAD;
	}
}

static enum operands operands_of_two(uint8_t op)
{
	if (op >= 0x80 && op < 0x90)
		return IMM32;
	if (op == 0x05 || op == 0x0b || op == 0x31 || op == 0x77 || op == 0xa2 || (op >= 0xc8 && op < 0xd0))
		return NO_OPERAND;
	if ((op >= 0x70 && op < 0x74) || op == 0xa4 || op == 0xac || op == 0xba || op == 0xc2 || (op >= 0xc4 && op < 0xc7))
		return MODRM_IMM8;
	if ((op >= 0x06 && op < 0x0d) || op == 0x0e || op == 0x0f || (op >= 0x24 && op < 0x28) || (op >= 0x30 && op < 0x40) || op == 0xa6 || op == 0xa7)
		return BAD;
	return MODRM;
}

/* Prefixes and the opcode. false: too many. */
static bool read_opcode(struct parts *p, enum operands *operands)
{
	for (; p->at < 8; p->at++) {
		uint8_t c = p->code[p->at];
		p->narrow |= c == 0x66;
		if (c != 0x66 && c != 0x67 && c != 0xf2 && c != 0xf3 && c != 0xf0 && c != 0x2e && c != 0x36 && c != 0x3e && c != 0x26 && c != 0x64 && c != 0x65)
			break;
	}
	if ((p->code[p->at] & 0xf0) == 0x40)
		p->rex = p->code[p->at++];
	p->op = p->code[p->at++];
	if (p->op != 0x0f) {
		*operands = operands_of_one(p->op, p->code + p->at);
		return p->at < 10;
	}
	p->two = true;
	p->op = p->code[p->at++];
	*operands = operands_of_two(p->op);
	if (p->op == 0x38 || p->op == 0x3a) {
		*operands = p->op == 0x3a ? MODRM_IMM8 : MODRM;
		p->at++;
	}
	return p->at < 12;
}

static void read_modrm(struct parts *p)
{
	p->modrm = p->code[p->at++];
	p->mod = p->modrm >> 6;
	p->reg = (p->modrm >> 3 & 7) | (p->rex & 4) << 1;
	p->rm = (p->modrm & 7) | (unsigned)(p->rex & 1) << 3;
	size_t bytes = p->mod == 1 ? 1 : p->mod == 2 ? 4 : 0;
	if (p->mod != 3 && (p->modrm & 7) == 4) {
		uint8_t sib = p->code[p->at++];
		p->rm = (sib & 7) | (unsigned)(p->rex & 1) << 3;
		if ((sib >> 3 & 7) != 4 || p->rex & 2)
			p->rm = 16; /* with an index: no register alone */
		if (p->mod == 0 && (sib & 7) == 5) {
			p->rm = 16;
			bytes = 4;
		}
	} else if (p->mod == 0 && (p->modrm & 7) == 5) {
		p->rm = 16;
		bytes = 4;
	}
	p->displacement = bytes ? read_signed(p->code + p->at, bytes) : 0;
	p->at += bytes;
}

static void read_operands(struct parts *p, enum operands operands)
{
	static const uint8_t immediates[] = {[IMM8] = 1, [IMM32] = 4, [MODRM_IMM8] = 1, [MODRM_IMM32] = 4, [IMM16] = 2, [IMM64] = 8, [IMM24] = 3};
	size_t bytes = operands < sizeof immediates ? immediates[operands] : 0;
	bool relative = p->two ? p->op >= 0x80 && p->op < 0x90 : p->op == 0xe8 || p->op == 0xe9;
	if (operands == MODRM || operands == MODRM_IMM8 || operands == MODRM_IMM32)
		read_modrm(p);
	if (bytes == 4 && p->narrow && !relative)
		bytes = 2;
	if (!p->two && p->op >= 0xb8 && p->op < 0xc0 && p->rex & 8)
		bytes = 8;
	p->immediate = bytes && bytes != 3 ? read_signed(p->code + p->at, bytes) : 0;
	p->at += bytes;
}

/* Of an instruction of one opcode byte with ModRM: what it does to the stack pointer or the frame pointer. */
static enum code_effect effect_of_modrm(const struct parts *p, int64_t *amount)
{
	bool to_rm = p->mod == 3 && p->rm == RSP;
	if ((p->op == 0x83 || p->op == 0x81) && to_rm) {
		unsigned what = p->reg & 7;
		*amount = what == 0 ? p->immediate : -p->immediate;
		return what == 7 ? CODE_PASSES : (what == 0 || what == 5) && p->rex & 8 ? CODE_MOVES : CODE_STRANGE;
	}
	if (p->op == 0x8d && p->reg == RSP) {
		*amount = p->displacement;
		return p->rm == RSP && p->mod != 3 ? CODE_MOVES : CODE_STRANGE;
	}
	if (p->op == 0x8b && p->reg == RBP && p->mod != 3 && p->rm == RSP) {
		*amount = p->displacement;
		return CODE_LOADS_FP;
	}
	if (p->op == 0xff) {
		*amount = -8;
		return (p->reg & 7) == 4 || (p->reg & 7) == 5 ? CODE_STOPS : (p->reg & 7) == 6 ? CODE_MOVES : to_rm ? CODE_STRANGE : CODE_PASSES;
	}
	bool compares = (p->op & 0xf8) == 0x38 || p->op == 0x84 || p->op == 0x85;
	bool writes_reg = (p->op < 0x40 && (p->op & 2)) || p->op == 0x63 || p->op == 0x69 || p->op == 0x6b || p->op == 0x8b || p->op == 0x87;
	bool writes_rm = (p->op < 0x40 && !(p->op & 2)) || p->op == 0x89 || p->op == 0x87 || p->op == 0xc7 || p->op == 0xc1 || p->op == 0xd1 || p->op == 0xd3 ||
			 p->op == 0xf7 || p->op == 0x8f;
	if (!compares && ((writes_reg && p->reg == RSP) || (writes_rm && to_rm) || p->op == 0x8f))
		return CODE_STRANGE;
	return CODE_PASSES;
}

static enum code_effect effect_of_one(const struct parts *p, enum operands operands, int64_t *amount)
{
	uint8_t op = p->op;
	*amount = p->immediate;
	if (op >= 0x70 && op < 0x80)
		return CODE_BRANCHES;
	if (op == 0xe9 || op == 0xeb)
		return CODE_JUMPS;
	if (op == 0xc3 || op == 0xc2)
		return CODE_RETURNS;
	if (op == 0xcc || op == 0xf4)
		return CODE_STOPS;
	*amount = -8;
	if ((op >= 0x50 && op < 0x58) || op == 0x68 || op == 0x6a || op == 0x9c)
		return p->narrow ? CODE_STRANGE : CODE_MOVES;
	*amount = 8;
	if (op >= 0x58 && op < 0x60) {
		unsigned reg = (op & 7u) | (unsigned)(p->rex & 1) << 3;
		return reg == RSP || p->narrow ? CODE_STRANGE : reg == RBP ? CODE_POPS_FP : CODE_MOVES;
	}
	if (op == 0x9d)
		return CODE_MOVES;
	bool exchanges = (op > 0x90 && op < 0x98) && ((op & 7u) | (unsigned)(p->rex & 1) << 3) == RSP;
	if (op == 0xc8 || op == 0xc9 || (op >= 0xe0 && op < 0xe8) || exchanges || ((op & ~7u) == 0xb8 && (op & 7) == RSP && !(p->rex & 1)))
		return CODE_STRANGE;
	return operands == MODRM || operands == MODRM_IMM8 || operands == MODRM_IMM32 ? effect_of_modrm(p, amount) : CODE_PASSES;
}

struct code_instruction code_step_x64(const uint8_t *code)
{
	struct code_instruction out = {.effect = CODE_STRANGE};
	struct parts p = {.code = code};
	enum operands operands = BAD;
	if (!read_opcode(&p, &operands) || operands == BAD)
		return out;
	uint8_t whole[CODE_STEP_BYTES + 16] = {0}; /* what an instruction that is longer than any would have as operands */
	memcpy(whole, code, CODE_STEP_BYTES);
	p.code = whole;
	read_operands(&p, operands);
	if (p.at > CODE_STEP_BYTES)
		return out;
	out.bytes = p.at;
	if (!p.two) {
		out.effect = effect_of_one(&p, operands, &out.amount);
		return out;
	}
	out.amount = p.immediate;
	bool moves = p.op >= 0x40 && p.op < 0x50; /* cmov */
	out.effect = p.op >= 0x80 && p.op < 0x90 ? CODE_BRANCHES : p.op == 0x0b ? CODE_STOPS : moves && p.reg == RSP ? CODE_STRANGE : CODE_PASSES;
	return out;
}
