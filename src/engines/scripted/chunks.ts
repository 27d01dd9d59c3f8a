import type { ChatChunk, ChatDelta, ChatUsage, FinishReason } from '../../wire/chat/chat.ts';
import type { Answer } from './answer.ts';
import { tokenize } from './tokens.ts';

type Head = Pick<ChatChunk, 'id' | 'created' | 'model'>;

const contentChunks = 4;

/** An answer as the chunks a server would stream (wire-formats.md, section 1a): role, pieces, finish reason, usage. */
export function chunksOf(head: Head, answers: Answer[], usage: ChatUsage): ChatChunk[] {
  const { prompt_tokens, prompt_tokens_details } = usage;

  const chunk = (
    index: number,
    delta: ChatDelta,
    finish: FinishReason | null = null,
    stop?: string,
  ): ChatChunk => ({
    ...head,
    object: 'chat.completion.chunk',
    prompt: { prompt_tokens, prompt_tokens_details },
    choices: [
      {
        index,
        delta,
        logprobs: null,
        finish_reason: finish,
        ...(stop !== undefined && { stop_reason: stop }),
      },
    ],
    usage: null,
  });
  const perChoice = answers.map((answer, index) => [
    chunk(index, { role: 'assistant', content: '' }),
    ...deltasOf(answer).map((delta) => chunk(index, delta)),
    chunk(index, {}, answer.finishReason, answer.stop),
  ]);
  return [...perChoice.flat(), { ...head, object: 'chat.completion.chunk', choices: [], usage }];
}

function deltasOf({ message }: Answer): ChatDelta[] {
  const [call] = message.tool_calls ?? [];
  if (!call) return pieces(message.content ?? '').map((content) => ({ content }));
  const { name, arguments: json } = call.function;
  return [
    { tool_calls: [{ index: 0, id: call.id, type: 'function', function: { name, arguments: '' } }] },
    ...pieces(json).map((part) => ({ tool_calls: [{ index: 0, function: { arguments: part } }] })),
  ];
}

function pieces(text: string): string[] {
  const tokens = tokenize(text);
  const size = Math.max(1, Math.ceil(tokens.length / contentChunks));
  return Array.from({ length: Math.ceil(tokens.length / size) }, (_, i) =>
    tokens.slice(i * size, (i + 1) * size).join(''),
  );
}
