for (long n = 1; ; n++)
{
    Console.WriteLine($"tick {n}");
    Thread.Sleep(200);
}
