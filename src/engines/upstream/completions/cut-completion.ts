import type { CompletionLogprobs, CompletionPiece } from '../../../wire/completions/completions.ts';
import { StopCut } from '../answer/stop-cut.ts';

interface ScoredToken {
  token: string;
  logprob: number | null;
  top: Record<string, number> | null;
  offset: number;
}

/** Returns a function that cuts the pieces of one answer before their stop sequences; an empty list holds a piece back. */
export function pieceCutter(stops: readonly string[]): <P extends CompletionPiece>(piece: P) => P[] {
  if (stops.length === 0) return (piece) => [piece];
  const cuts = new Map<number, StopCut<ScoredToken>>();
  return (piece) => {
    const { index, logprobs, finish_reason: finish } = piece;
    const cut = cuts.get(index) ?? new StopCut<ScoredToken>(stops, ({ token }) => token.length);
    cuts.set(index, cut);
    const { text, tokens } = cut.take({ text: piece.text, tokens: tokensOf(logprobs) }, finish !== null);
    if (text === '' && piece.text !== '' && tokens.length === 0 && finish === null) return [];
    const cutLogprobs = logprobs || tokens.length > 0 ? logprobsOf(tokens) : null;
    return [{ ...piece, text, logprobs: cutLogprobs, ...cut.ending(piece) }];
  };
}

function tokensOf(logprobs: CompletionLogprobs | null): ScoredToken[] {
  if (!logprobs) return [];
  const { tokens, token_logprobs: own, top_logprobs: top, text_offset: offsets } = logprobs;
  return tokens.map((token, at) => ({ token, logprob: own[at]!, top: top[at]!, offset: offsets[at]! }));
}

function logprobsOf(tokens: readonly ScoredToken[]): CompletionLogprobs {
  return {
    tokens: tokens.map(({ token }) => token),
    token_logprobs: tokens.map(({ logprob }) => logprob),
    top_logprobs: tokens.map(({ top }) => top),
    text_offset: tokens.map(({ offset }) => offset),
  };
}
