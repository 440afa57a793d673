namespace Shop;

using System.Runtime.CompilerServices;
using Microsoft.Data.SqlClient;
using Microsoft.Data.Sqlite;
using Microsoft.EntityFrameworkCore;
using Npgsql;

/// <summary>A database in the process, in a file: its commands are work of the request's own thread, and waits of it.</summary>
public static class Sqlite
{
    const int Items = 100;
    static readonly string Folder = Directory.CreateTempSubdirectory("orders-").FullName;
    public static readonly string Place = "Data Source=" + Path.Combine(Folder, "orders.db");

    public static void Start()
    {
        AppDomain.CurrentDomain.ProcessExit += (_, _) => Directory.Delete(Folder, true);
        using var connection = Open();
        Execute(connection, "CREATE TABLE items(id INTEGER, name TEXT, secret TEXT); CREATE TABLE sales(at INTEGER);" +
            "WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 2000) INSERT INTO items SELECT i, 'item ' || i, 'x' FROM n");
    }

    static SqliteConnection Open()
    {
        var connection = new SqliteConnection(Place);
        connection.Open();
        return connection;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Execute(SqliteConnection connection, string text)
    {
        using var command = connection.CreateCommand();
        command.CommandText = text;
        return command.ExecuteNonQuery();
    }

    /// <summary>N + 1: a command for each of an order's items.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Orders(Bill bill, int id)
    {
        using var connection = Open();
        int length = 0;
        for (int i = 0; i < Items; i++)
            length += bill.Run("sqlite", () => Item(connection, id * Items + i));
        return length;
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static int Item(SqliteConnection connection, int id)
    {
        using var command = connection.CreateCommand();
        command.CommandText = "SELECT name FROM items WHERE id = $id AND secret <> 'hunter-sqlite'";
        command.Parameters.AddWithValue("$id", id);
        return (command.ExecuteScalar() as string ?? "").Length;
    }

    /// <summary>One command that has much to do.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static long Report(Bill bill, int thousands)
    {
        using var connection = Open();
        return bill.Run("code", () => Sum(connection, thousands * 1000));
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static long Sum(SqliteConnection connection, int rows)
    {
        using var command = connection.CreateCommand();
        command.CommandText = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $rows) SELECT SUM(i * i % 7) FROM n";
        command.Parameters.AddWithValue("$rows", rows);
        return (long)command.ExecuteScalar()!;
    }

    /// <summary>Transactions, each of which the disk has to confirm.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Log(Bill bill, int count)
    {
        using var connection = Open();
        for (int i = 0; i < count; i++)
            bill.Run("disk", () => Execute(connection, "INSERT INTO sales VALUES (2)"));
        return count;
    }

    /// <summary>What has the database for so long, on a thread of its own.</summary>
    static void Import(int ms, ManualResetEventSlim begun)
    {
        using var connection = Open();
        using var transaction = connection.BeginTransaction();
        Execute(connection, "INSERT INTO sales VALUES (0)");
        begun.Set();
        Thread.Sleep(ms);
        transaction.Rollback();
    }

    /// <summary>Writes while another transaction has the database: the client tries again each 150 ms.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Sell(Bill bill, int ms)
    {
        using var begun = new ManualResetEventSlim();
        var import = new Thread(() => Import(ms, begun)) { Name = "import" };
        import.UnsafeStart();
        begun.Wait();
        using var connection = Open();
        int made = bill.Run("locked", () => Execute(connection, "INSERT INTO sales VALUES (1)"));
        import.Join();
        return made;
    }
}

public sealed class Item
{
    public int Id { get; set; }
    public string Name { get; set; } = "";
}

/// <summary>The same databases by Entity Framework Core.</summary>
public sealed class Store(DbContextOptions<Store> options) : DbContext(options)
{
    const int Items = 20;
    static readonly DbContextOptions<Store> InProcess = new DbContextOptionsBuilder<Store>().UseSqlite(Sqlite.Place).Options;

    protected override void OnModelCreating(ModelBuilder model) => model.Entity<Item>(item =>
    {
        item.ToTable("items").Property(i => i.Id).HasColumnName("id");
        item.Property(i => i.Name).HasColumnName("name");
    });

    /// <summary>N + 1, in the process.</summary>
    [MethodImpl(MethodImplOptions.NoInlining)]
    public static int Orders(Bill bill, int id) => Orders(bill, "sqlite", InProcess, id);

    public static int Orders(Bill bill, string part, DbContextOptions<Store> where, int id)
    {
        using var store = new Store(where);
        int length = 0;
        for (int i = 0; i < Items; i++)
        {
            int wanted = id * Items + i;
            var items = store.Set<Item>().AsNoTracking().Where(x => x.Id == wanted && x.Name != "hunter-ef");
            length += bill.Run(part, () => items.Select(x => x.Name).First()).Length;
        }
        return length;
    }

    /// <summary>N + 1, with a server.</summary>
    public static async Task<int> OrdersAsync(Bill bill, DbContextOptions<Store> where, int id)
    {
        await using var store = new Store(where);
        int length = 0;
        for (int i = 0; i < Items; i++)
        {
            int wanted = id % 50 * Items + i;
            length += (await bill.Await("database", () => store.Set<Item>().AsNoTracking().Where(x => x.Id == wanted).Select(x => x.Name).FirstAsync())).Length;
        }
        return length;
    }
}

/// <summary>The client of SQL Server, with as much of a server as it needs (Slow.Tds).</summary>
public static class SqlServer
{
    static string Place => $"Server=tcp:127.0.0.1,{Slow.TdsPort};User Id=shop;Password=none;Encrypt=Optional";

    public static async Task<int> Report(Bill bill, int ms)
    {
        await using var connection = new SqlConnection(Place);
        await bill.Await("connection", () => connection.OpenAsync());
        await using var command = new SqlCommand($"UPDATE items SET name = 'hunter-tds' WHERE id = 4711 AND PAUSE {ms}", connection);
        return await bill.Await("database", () => command.ExecuteNonQueryAsync());
    }
}

/// <summary>Endpoints with a real server of PostgreSQL behind them.</summary>
public static class Postgres
{
    const int Items = 40;
    static NpgsqlDataSource source = null!, narrow = null!;
    static DbContextOptions<Store> store = null!;

    public static async Task Start(string connection)
    {
        source = NpgsqlDataSource.Create(connection + ";Maximum Pool Size=64");
        narrow = NpgsqlDataSource.Create(connection + ";Maximum Pool Size=2;Application Name=narrow");
        store = new DbContextOptionsBuilder<Store>().UseNpgsql(source).Options;
        await using var make = source.CreateCommand("CREATE TABLE IF NOT EXISTS items(id int primary key, name text); " +
            "INSERT INTO items SELECT i, 'item ' || i FROM generate_series(0, 2000) i ON CONFLICT DO NOTHING");
        await make.ExecuteNonQueryAsync();
    }

    public static void Map(WebApplication app)
    {
        app.Get("/postgres/orders/{id}", (int id, HttpContext c) => Orders(Bill.Of(c), id));
        app.Get("/postgres/sync/{id}", (int id, HttpContext c) => OrdersSync(Bill.Of(c), id));
        app.Get("/postgres/report/{ms}", (int ms, HttpContext c) => Report(Bill.Of(c), source, ms));
        app.Get("/postgres/narrow/{ms}", (int ms, HttpContext c) => Report(Bill.Of(c), narrow, ms));
        app.Get("/postgres/ef/{id}", (int id, HttpContext c) => Store.OrdersAsync(Bill.Of(c), store, id));
        app.Get("/postgres/literal/{id}", (int id, HttpContext c) => Literal(Bill.Of(c), id));
    }

    static async Task<int> Orders(Bill bill, int id)
    {
        await using var connection = await bill.Await("connection", () => source.OpenConnectionAsync().AsTask());
        int length = 0;
        for (int i = 0; i < Items; i++)
        {
            await using var command = new NpgsqlCommand("SELECT name FROM items WHERE id = $1", connection);
            command.Parameters.Add(new NpgsqlParameter { Value = id % 50 * Items + i });
            length += (await bill.Await("database", () => command.ExecuteScalarAsync()) as string ?? "").Length;
        }
        return length;
    }

    static int OrdersSync(Bill bill, int id)
    {
        using var connection = bill.Run("connection", () => source.OpenConnection());
        int length = 0;
        for (int i = 0; i < Items; i++)
        {
            using var command = new NpgsqlCommand("SELECT name FROM items WHERE id = $1", connection);
            command.Parameters.Add(new NpgsqlParameter { Value = id % 50 * Items + i });
            length += (bill.Run("database", () => command.ExecuteScalar()) as string ?? "").Length;
        }
        return length;
    }

    static async Task<int> Report(Bill bill, NpgsqlDataSource source, int ms)
    {
        await using var connection = await bill.Await("connection", () => source.OpenConnectionAsync().AsTask());
        await using var command = new NpgsqlCommand("SELECT 1 FROM pg_sleep($1)", connection);
        command.Parameters.Add(new NpgsqlParameter { Value = ms / 1000.0 });
        await bill.Await("database", () => command.ExecuteScalarAsync());
        return ms;
    }

    /// <summary>A command whose text has what it should not have.</summary>
    static async Task<int> Literal(Bill bill, int id)
    {
        await using var connection = await bill.Await("connection", () => source.OpenConnectionAsync().AsTask());
        await using var command = new NpgsqlCommand($"SELECT count(*) FROM items, pg_sleep(0.01) WHERE id = 4711{id} AND name = 'hunter-sql'", connection);
        await bill.Await("database", () => command.ExecuteScalarAsync());
        return id;
    }
}
