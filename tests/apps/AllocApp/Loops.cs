namespace AllocApp;

using System.Runtime.CompilerServices;
using Checkout;

public static class Loops
{
    sealed class Node
    {
        public Node? Left = null, Right = null;
        public long Value = 1;
    }

    [ThreadStatic]
    static object? kept;

    public static void Allocate()
    {
        while (true)
        {
            Once();
            Progress.Count();
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Once()
    {
        for (int i = 0; i < 1000; i++)
            kept = new byte[100];
        kept = new Node();
    }

    public static void StartThreads()
    {
        while (true)
        {
            var thread = new Thread(Short) { IsBackground = true, Name = "short" };
            thread.Start();
            thread.Join();
            Thread.Sleep(10);
        }
    }

    [MethodImpl(MethodImplOptions.NoInlining)]
    static void Short()
    {
        for (int i = 0; i < 20; i++)
            Once();
        Progress.Count();
    }
}
