import type { ChatChunk, ChatChunks, ChatResponse, TokenLogprob } from '../../../wire/chat/chat.ts';
import { StopCut } from './stop-cut.ts';

type Piece = ChatChunk['choices'][number];

const lengthOf = ({ token }: TokenLogprob) => token.length;

/** Cuts an answer before a stop sequence that its server left in the text. */
export function cutResponse(response: ChatResponse, stops: readonly string[]): ChatResponse {
  if (stops.length === 0) return response;
  for (const choice of response.choices) {
    const { message, logprobs } = choice;
    if (message.content === null) continue;
    const cut = new StopCut(stops, lengthOf);
    const { text, tokens } = cut.take({ text: message.content, tokens: logprobs?.content ?? [] }, true);
    message.content = text;
    if (logprobs?.content) logprobs.content = tokens;
    Object.assign(choice, cut.ending(choice));
  }
  return response;
}

/** Cuts a streamed answer, like `cutResponse`. */
export async function* cutChunks(lists: ChatChunks, stops: readonly string[]): ChatChunks {
  const cuts = new Map<number, StopCut<TokenLogprob>>();
  const cutOf = (index: number) => {
    const cut = cuts.get(index) ?? new StopCut(stops, lengthOf);
    cuts.set(index, cut);
    return cut;
  };
  for await (const chunks of lists) {
    for (const chunk of chunks)
      chunk.choices = chunk.choices.flatMap((piece) => cutPiece(piece, cutOf(piece.index)));
    yield chunks.filter(({ choices, usage }) => choices.length > 0 || usage);
  }
}

/** @returns an empty list where the whole piece is held back */
function cutPiece(piece: Piece, cut: StopCut<TokenLogprob>): Piece[] {
  const { content, ...delta } = piece.delta;
  const isEnd = piece.finish_reason !== null || delta.tool_calls !== undefined;
  if (!content && !isEnd) return [piece];
  const { text, tokens } = cut.take({ text: content ?? '', tokens: piece.logprobs?.content ?? [] }, isEnd);
  const hasText = text !== '' || typeof content === 'string';
  const hasMore = isEnd || text !== '' || Object.keys(delta).length > 0 || tokens.length > 0;
  if (!hasMore) return [];
  const logprobs = piece.logprobs || tokens.length > 0 ? { content: tokens, refusal: null } : null;
  return [
    { ...piece, delta: { ...delta, ...(hasText && { content: text }) }, logprobs, ...cut.ending(piece) },
  ];
}
