/** More threads must be faster by this much: what they gain less is lost to whoever else works on the machine. */
const worthwhile = 1.05;
/** From here on, more threads only wait for each other. */
const hopeless = 0.7;

/** Numbers of threads worth a try: powers of two, and all cores but the one that feeds them. */
export function threadCandidates(cores: number): number[] {
  const most = Math.max(1, Math.floor(cores) - 1);
  const candidates: number[] = [];
  for (let threads = 1; threads < most; threads *= 2) candidates.push(threads);
  return [...candidates, most];
}

/**
 * Tries the candidates from the fewest on and gives the fewest threads that are about as fast as the fastest. Stops
 * where it becomes much slower: threads that share a core wait for each other without end.
 * @param measure tokens a second with so many threads
 */
export async function chooseThreads(
  candidates: readonly number[],
  measure: (threads: number) => Promise<number>,
): Promise<number> {
  let best: { threads: number; speed: number } | undefined;
  for (const threads of candidates.length > 1 ? candidates : []) {
    const speed = await measure(threads);
    if (!best || speed > best.speed * worthwhile) best = { threads, speed };
    else if (speed < best.speed * hopeless) break;
  }
  return best?.threads ?? candidates[0] ?? 1;
}
