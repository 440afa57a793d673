namespace MemoryApp.Modes;

using Shop;

/// <summary>static Shop.Orders.All: an array of survivors.</summary>
sealed class ArrayMode() : Mode("array", 1_000_000)
{
    public override void Grow(long count)
    {
        var old = Orders.All ?? [];
        var all = new Order[old.Length + count];
        old.CopyTo(all, 0);
        for (int i = old.Length; i < all.Length; i++)
            all[i] = new Order(i);
        Orders.All = all;
    }

    public override void Drop() => Orders.All = null;

    public override object Details() => new
    {
        holder = "static Shop.Orders.All",
        type = "Shop.Order",
        count = Orders.All!.Length,
        each_bytes = Size.Of(() => new Order(1)),
        array_bytes = 24 + 8L * Orders.All.Length,
    };
}

/// <summary>static Shop.Chain.Head: as deep as it is long.</summary>
sealed class ListMode() : Mode("list", 1_000_000)
{
    int count;

    public override void Grow(long more)
    {
        for (long i = 0; i < more; i++)
            Chain.Head = new Node(Chain.Head, count++);
    }

    public override void Drop()
    {
        Chain.Head = null;
        count = 0;
    }

    public override object Details() => new
    {
        holder = "static Shop.Chain.Head",
        type = "Shop.Node",
        count,
        each_bytes = Size.Of(() => new Node(null, 1)),
    };
}

/// <summary>static Shop.Cache._items: a dictionary that nobody empties.</summary>
sealed class StaticMode() : Mode("static", 100_000)
{
    public override void Grow(long count)
    {
        int first = Cache._items.Count;
        for (int i = 0; i < count; i++)
            Cache._items.Add(first + i, new Order(first + i));
    }

    public override void Drop()
    {
        Cache._items.Clear();
        Cache._items.TrimExcess();
    }

    public override object Details() => new
    {
        holder = "static Shop.Cache._items",
        type = "Shop.Order",
        count = Cache._items.Count,
        each_bytes = Size.Of(() => new Order(1)),
        capacity = Cache._items.EnsureCapacity(0),
    };
}

/// <summary>static Shop.Series.Numbers: a list whose array doubles.</summary>
sealed class NumbersMode() : Mode("numbers", 10_000)
{
    public override void Grow(long count)
    {
        for (long i = 0; i < count; i++)
            Series.Numbers.Add((int)i);
    }

    public override void Drop() => Series.Numbers.Capacity = 0;

    public override object Details() => new
    {
        holder = "static Shop.Series.Numbers",
        type = "int[]",
        count = Series.Numbers.Count,
        capacity_bytes = 24 + 4L * Series.Numbers.Capacity,
    };
}

/// <summary>static Shop.Series.Log: a stream in memory; the count is bytes.</summary>
sealed class StreamMode() : Mode("stream", 10_000)
{
    static readonly byte[] Piece = new byte[1000];

    public override void Grow(long count)
    {
        for (long done = 0; done < count; done += Piece.Length)
            Series.Log.Write(Piece, 0, (int)Math.Min(Piece.Length, count - done));
    }

    public override object Details() => new
    {
        holder = "static Shop.Series.Log",
        type = "byte[]",
        count = Series.Log.Length,
        capacity_bytes = 24L + Series.Log.Capacity,
    };
}

/// <summary>static Shop.Series.Table: two arrays that are made larger at once.</summary>
sealed class TableMode() : Mode("table", 10_000)
{
    public override void Grow(long count)
    {
        int first = Series.Table.Count;
        for (int i = 0; i < count; i++)
            Series.Table.Add(first + i, i);
    }

    public override object Details() => new
    {
        holder = "static Shop.Series.Table",
        type = "Dictionary<int, int>.Entry[]",
        count = Series.Table.Count,
        capacity_bytes = 48 + 20L * Series.Table.EnsureCapacity(0),
    };
}

/// <summary>Objects that two holders share.</summary>
sealed class SharedMode() : Mode("shared", 10_000)
{
    public override void Grow(long count)
    {
        for (long i = 0; i < count; i++)
        {
            var blob = new Blob();
            Left.Blobs.Add(blob);
            Right.Blobs.Add(blob);
        }
    }

    public override void Drop()
    {
        Left.Blobs.Clear();
        Right.Blobs.Clear();
    }

    public override object Details() => new
    {
        holders = new[] { "static Shop.Left.Blobs", "static Shop.Right.Blobs" },
        type = "Shop.Blob",
        count = Left.Blobs.Count,
        each_bytes = Size.Of(() => new Blob()),
    };
}
