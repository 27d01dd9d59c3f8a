import type { TokenLogprob } from '../../../../wire/chat/chat.ts';
import type { ScoredToken } from '../../../../wire/completions/logprobs.ts';
import type { Writing } from '../sampling/generation.ts';
import { createStopFilter } from './stop.ts';

/** Gathers the text behind a raw prompt as it comes: nothing in it is a thought or a call. It is cut at stop strings alone. */
export interface RawText extends Writing {
  /** Every token whose text is in `raw`, and the one that ended it. */
  readonly scored: ScoredToken[];
  readonly stop: string | undefined;
}

export function createRawText(
  stops: readonly string[],
  onText: (text: string, scored: readonly ScoredToken[]) => void,
): RawText {
  const filter = createStopFilter(stops);
  const gathered = {
    raw: '',
    calls: 0,
    scored: [] as ScoredToken[],
    stop: undefined as string | undefined,
  };
  const waiting: { at: number; token: ScoredToken }[] = [];
  let received = 0;

  /** @param isAll whether no token that waits can be cut off any more */
  function say(text: string, isAll = false): void {
    gathered.raw += text;
    const end = isAll ? Infinity : gathered.raw.length;
    const certain: ScoredToken[] = [];
    while (waiting.length > 0 && waiting[0]!.at < end) certain.push(waiting.shift()!.token);
    gathered.scored.push(...certain);
    if (text !== '' || certain.length > 0) onText(text, certain);
  }

  return Object.assign(gathered, {
    push(text: string, logprob?: TokenLogprob) {
      if (logprob) waiting.push({ at: received, token: { ...logprob, text } });
      received += text.length;
      const cut = filter.push(text);
      gathered.stop ??= cut.stop;
      say(cut.text);
      return cut.stop !== undefined;
    },
    append: (text: string) => say(text),
    end: () => say(filter.end(), gathered.stop === undefined),
  });
}
