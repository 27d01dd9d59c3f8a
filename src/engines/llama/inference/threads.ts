/** How fast a model was with a number of threads. */
export interface Speed {
  threads: number;
  tokensPerSecond: number;
}

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
 */
export async function chooseThreads(
  candidates: readonly number[],
  measure: (threads: number) => Promise<number>,
): Promise<{ chosen: number; speeds: Speed[] }> {
  const speeds: Speed[] = [];
  let best: Speed | undefined;
  for (const threads of candidates) {
    if (candidates.length === 1) return { chosen: threads, speeds };
    const speed = { threads, tokensPerSecond: await measure(threads) };
    speeds.push(speed);
    if (!best || speed.tokensPerSecond > best.tokensPerSecond * worthwhile) best = speed;
    else if (speed.tokensPerSecond < best.tokensPerSecond * hopeless) break;
  }
  return { chosen: best?.threads ?? 1, speeds };
}
