import { possibleStart } from '../../../base/possible-start.ts';
import type { ChatRequest, FinishReason } from '../../../wire/chat/chat.ts';

/** Stop sequences to cut where the server leaves them in; none where the request includes them. */
export function stopsOf(request: Pick<ChatRequest, 'stop'> & Record<string, unknown>): readonly string[] {
  const { stop, include_stop_str_in_output: isIncluded, no_stop_trim: isUntrimmed } = request;
  // Below `min_tokens` stop sequences are text.
  if (isIncluded === true || isUntrimmed === true || Number(request['min_tokens'] ?? 0) > 0) return [];
  return [stop ?? []].flat().filter((each) => each !== '');
}

/** A piece of text and its tokens. */
export interface CutText<Token> {
  text: string;
  tokens: Token[];
}

/** Cuts the text of one choice, whole or in pieces, before its first complete stop sequence. */
export class StopCut<Token> {
  #stops: readonly string[];
  #lengthOf: (token: Token) => number;
  #held: CutText<Token> = { text: '', tokens: [] };
  #met: string | null = null;

  constructor(stops: readonly string[], lengthOf: (token: Token) => number) {
    this.#stops = stops;
    this.#lengthOf = lengthOf;
  }

  /** Returns the text that can be shown now: no end that may become a stop sequence. @param isEnd no more text follows */
  take(piece: CutText<Token>, isEnd: boolean): CutText<Token> {
    if (this.#met !== null) return { text: '', tokens: [] };
    const text = this.#held.text + piece.text;
    const tokens = [...this.#held.tokens, ...piece.tokens];
    const met = this.#firstIn(text);
    this.#met = met?.stop ?? null;
    const shown = met?.at ?? (isEnd ? text.length : text.length - possibleStart(text, this.#stops));
    const hidden = this.#tokensIn(tokens, text.length - shown, met !== undefined);
    const from = tokens.length - hidden;
    this.#held = met ? { text: '', tokens: [] } : { text: text.slice(shown), tokens: tokens.slice(from) };
    return { text: text.slice(0, shown), tokens: tokens.slice(0, from) };
  }

  /** Finish reason of a choice that was cut: the stop sequence, even if its server continued. */
  ending<Piece extends { finish_reason: FinishReason | null; stop_reason?: string | null }>(
    piece: Piece,
  ): Partial<Piece> {
    const { finish_reason: finish, stop_reason: reported } = piece;
    if (this.#met === null || (finish !== 'stop' && finish !== 'length')) return {};
    return { finish_reason: 'stop', stop_reason: reported ?? this.#met } as Partial<Piece>;
  }

  #firstIn(text: string): { stop: string; at: number } | undefined {
    const found = this.#stops.flatMap((stop) => {
      const at = text.indexOf(stop);
      return at < 0 ? [] : [{ stop, at, end: at + stop.length }];
    });
    return found.toSorted((one, other) => one.end - other.end || one.at - other.at)[0];
  }

  /** Number of last tokens that touch an end of this length, or lie within it. */
  #tokensIn(tokens: readonly Token[], length: number, isWithin: boolean): number {
    let count = 0;
    let covered = 0;
    while (count < tokens.length && covered < length) {
      covered += this.#lengthOf(tokens[tokens.length - 1 - count]!);
      if (isWithin && covered > length) break;
      count += 1;
    }
    return count;
  }
}
