/* Commands of database clients that tell diagnostic listeners of them, read in bounds. Pure; any context. As events of Microsoft-Diagnostics-DiagnosticSource
 * (request_event.h): source "Microsoft.EntityFrameworkCore", event Microsoft.EntityFrameworkCore.Database.Command.CommandExecuting, CommandExecuted,
 * CommandError, CommandCanceled; source "SqlClientDiagnosticListener", event Microsoft.Data.SqlClient.WriteCommandBefore, WriteCommandAfter,
 * WriteCommandError; with the texts that LISTENER_CALL_SPECS asks for.
 *
 * Source: the listeners' documented events; checked with Entity Framework Core 8, 9 and 10 and Microsoft.Data.SqlClient 7. */
#ifndef DRDOTNET_LISTENER_CALL_H
#define DRDOTNET_LISTENER_CALL_H

#include "profiler/requests/activity_path.h"
#include "profiler/requests/call_event.h"

#define LISTENER_COMMAND u"Microsoft.EntityFrameworkCore/Microsoft.EntityFrameworkCore.Database.Command.Command"
#define LISTENER_SQL_CLIENT u"SqlClientDiagnosticListener/Microsoft.Data.SqlClient.WriteCommand"
#define LISTENER_CALL_SPECS                                                                                                                                   \
	LISTENER_COMMAND u"Executing:-Id=CommandId;Client=Command;Text=Command.CommandText\n" LISTENER_COMMAND u"Executed:-Id=CommandId\n" LISTENER_COMMAND \
	u"Error:-Id=CommandId\n" LISTENER_COMMAND u"Canceled:-Id=CommandId\n" LISTENER_SQL_CLIENT u"Before:-Id=OperationId;Text=Command.CommandText\n" \
	LISTENER_SQL_CLIENT u"After:-Id=OperationId\n" LISTENER_SQL_CLIENT u"Error:-Id=OperationId"

struct listener_call {
	enum call_moment moment;
	struct activity_path id; /* of the command, in the form of an activity's: its start and its end have the same */
	struct path_shape shape; /* of a start: "sql SELECT ?" */
};

/* false: it is of something else, or of a client that tells of its commands itself. */
bool listener_call_read(const uint8_t *data, size_t len, struct listener_call *out);

#endif
