/* The methods behind the symbols of an application that was compiled ahead of time (Native AOT), as the metadata would name them: its compiler puts '_' in the
 * place of each character that is no letter or digit, "__" before the method, and what a generic is made for in angle brackets.
 *
 *   Shop_Shop_Orders__LoadAsync_d__3__MoveNext       Shop.dll, Shop.Orders+<LoadAsync>d__3 . MoveNext
 *   S_P_CoreLib_System_Threading_Thread__Sleep_0     System.Private.CoreLib.dll, System.Threading.Thread . Sleep
 *
 * An underscore of the developer's own reads like a dot, and the number of an overload like the end of a name: both are lost. Pure; any thread.
 * Source of the format: ILCompiler's NativeAotNameMangler (dotnet/runtime, src/coreclr/tools/aot/ILCompiler.Compiler/Compiler). */
#ifndef DRDOTNET_AOT_NAME_H
#define DRDOTNET_AOT_NAME_H

#include <stdbool.h>

#define AOT_NAME_BYTES 640

struct aot_name {
	char module[160], type[AOT_NAME_BYTES], method[AOT_NAME_BYTES]; /* as in struct frame */
};

/* `program`: the executable's name, which is its assembly's as a rule. False: it is no method's symbol, or is too long. */
bool aot_name_of(const char *symbol, const char *program, struct aot_name *out);

#endif
