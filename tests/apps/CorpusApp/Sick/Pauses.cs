namespace Shop.Cleanup
{
    using Shop.Hosting;

    public sealed record Cart(int Id, string Owner, int[] Items);

    /// <summary>Somebody's advice: collect after each batch.</summary>
    [Load("collect-batches")]
    public sealed class CartSweeper
    {
        static readonly List<Cart> Carts = Enumerable.Range(0, 300_000).Select(i => new Cart(i, "owner-" + i, new int[4])).ToList();

        public static void Start()
        {
            var sweeper = new CartSweeper();
            Service.Every("cart-sweeper", 150, sweeper.Sweep);
        }

        void Sweep()
        {
            for (int i = 0; i < 500; i++)
                Carts[Random.Shared.Next(Carts.Count)] = new Cart(i, "owner-" + i, new int[4]);
            GC.Collect();
            GC.WaitForPendingFinalizers();
        }
    }

    /// <summary>A health check that asks for exact memory: GetTotalMemory(true) collects, several times.</summary>
    [Load("collect-health")]
    static class MemoryHealth
    {
        static readonly Dictionary<int, Cart> Open = Enumerable.Range(0, 300_000).ToDictionary(i => i, i => new Cart(i, "o" + i, new int[2]));

        public static Task Start() => Web.Serve(app => app.MapGet("/health", Check), "/health", clients: 1, restMs: 400);

        static string Check() => GC.GetTotalMemory(forceFullCollection: true) > 1L << 32 ? "sick" : "well " + Open.Count;
    }
}

namespace Shop.Scanner
{
    using System.Runtime.InteropServices;
    using Shop.Hosting;

    public sealed record Label(int Number, byte[] Image);

    static class Allocating
    {
        static Label? last;

        public static void Start()
        {
            for (int i = 0; i < 2; i++)
                Service.Every("label-writer-" + i, 1, () =>
                {
                    for (int n = 0; n < 400; n++)
                        last = new Label(n, new byte[2_000]);
                });
        }
    }

    /// <summary>A native comparison that the runtime cannot interrupt, and that takes long.</summary>
    [Load("late-scanner")]
    public static class BarcodeScanner
    {
        [SuppressGCTransition]
        [DllImport("libc", EntryPoint = "memcmp")]
        static extern int CompareFrames(nint last, nint now, nint bytes);

        const int FrameBytes = 150_000_000;
        static readonly nint Last = Marshal.AllocHGlobal(FrameBytes), Now = Marshal.AllocHGlobal(FrameBytes);

        public static void Start()
        {
            Allocating.Start();
            unsafe
            {
                new Span<byte>((void*)Last, FrameBytes).Fill(7);
                new Span<byte>((void*)Now, FrameBytes).Fill(7);
            }
            Service.Every("barcode-scanner", 1, () => ScanShelf());
        }

        public static int ScanShelf() => CompareFrames(Last, Now, FrameBytes);
    }

    /// <summary>The same with a long native computation, on two threads of the application's.</summary>
    [Load("late-matcher")]
    public static class ImageMatcher
    {
        [SuppressGCTransition]
        [DllImport("libc", EntryPoint = "memset")]
        static extern nint Fill(nint to, int value, nint bytes);

        static readonly nint Canvas = Marshal.AllocHGlobal(200_000_000);

        public static void Start()
        {
            Allocating.Start();
            Service.Every("image-matcher", 1, () => Compare(1));
        }

        public static void Compare(int value) => Fill(Canvas, value, 200_000_000);
    }
}

namespace Shop.Quotes
{
    using Shop.Hosting;

    public sealed class Quote(int number, Quote? before)
    {
        public readonly int Number = number;
        public readonly string Text = "quote " + number;
        public Quote? Before = before;
    }

    /// <summary>Many small objects that live for some seconds, on all threads: with more heaps than processors each pause waits for threads that have no
    /// processor. The environment says how many heaps.</summary>
    [Load("server-heaps")]
    static class QuoteBook
    {
        static readonly Quote?[] Latest = new Quote?[64];

        public static void Start()
        {
            for (int i = 0; i < 4; i++)
            {
                int book = i;
                Service.Every("quote-book-" + i, 1, () => Fill(book));
            }
        }

        static void Fill(int book)
        {
            for (int i = 0; i < 6_000; i++)
            {
                int place = (book * 16) + (i % 16);
                var before = Latest[place];
                Latest[place] = new Quote(i, before is { Number: < 5_000 } ? before : null);
            }
        }
    }
}

namespace Shop.Cache
{
    using Shop.Hosting;

    public sealed class Page(int number)
    {
        public readonly int Number = number;
        public readonly string Title = "page " + number;
        public readonly object[] Parts = [new int[4], new int[8], "part" + number];
    }

    /// <summary>A big cache whose entries live just long enough to get old: full collections, without background ones (the environment).</summary>
    [Load("gen2-midlife")]
    static class PageCache
    {
        static readonly Queue<Page> Pages = new();
        static readonly Page[] Lasting = Enumerable.Range(0, 300_000).Select(i => new Page(i)).ToArray();

        public static void Start() => Service.Every("page-renderer", 1, () =>
        {
            for (int i = 0; i < 3_000; i++)
            {
                Pages.Enqueue(new Page(i + Lasting.Length));
                if (Pages.Count > 250_000)
                    Pages.Dequeue();
            }
        });
    }

    /// <summary>Large arrays in a great hurry: each budget of the large object heap that is used up is a full collection.</summary>
    [Load("gen2-loh")]
    static class ImageCache
    {
        static readonly object[] Index = Enumerable.Range(0, 400_000).Select(object (i) => new Page(i)).ToArray();
        static readonly byte[]?[] Recent = new byte[]?[40];

        public static void Start() => Service.Every("image-cache", 1, () =>
        {
            for (int i = 0; i < 4; i++)
                Recent[Random.Shared.Next(Recent.Length)] = new byte[600_000 + Index.Length % 7];
        });
    }
}
