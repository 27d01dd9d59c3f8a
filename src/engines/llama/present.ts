import type {
  ChatChunk,
  ChatResponse,
  ChatUsage,
  ChoiceLogprobs,
  PromptUsage,
  TokenLogprob,
  ToolCall,
} from '../../wire/chat/chat.ts';
import type { CompletionChoice, CompletionPiece } from '../../wire/completions/completions.ts';
import { logprobsWriter } from '../../wire/completions/logprobs.ts';
import type { NativeEvent } from '../engines.ts';
import type { CompletedChoice, Delta, Generated, GeneratedCall, TokenCounts } from './protocol.ts';

/** What every chunk and response of one request carries. */
export interface Envelope {
  id: string;
  /** Unix seconds. */
  created: number;
  model: string;
}

/** Makes the id of a tool call. */
export type NewCallId = () => string;

export function toChatResponse(generated: Generated, envelope: Envelope, newCallId: NewCallId): ChatResponse {
  return {
    ...envelope,
    object: 'chat.completion',
    choices: generated.choices.map(({ content, reasoning, calls, logprobs, finish, stop }, index) => ({
      index,
      message: {
        role: 'assistant',
        // Beside calls, an empty text is no text.
        content: content === '' && calls.length > 0 ? null : content,
        refusal: null,
        ...(reasoning === '' ? {} : bothNames(reasoning)),
        ...(calls.length > 0 ? { tool_calls: calls.map((call) => toToolCall(call, newCallId())) } : {}),
      },
      logprobs: logprobs && toLogprobs(logprobs),
      finish_reason: finish,
      ...stopReason(stop),
    })),
    usage: toUsage(generated.tokens),
  };
}

/** Under the name that vLLM gave it. */
function stopReason(stop: string | undefined): { stop_reason?: string } {
  return stop === undefined ? {} : { stop_reason: stop };
}

/** Clients read the one or the other. */
function bothNames(reasoning: string): { reasoning: string; reasoning_content: string } {
  return { reasoning, reasoning_content: reasoning };
}

function toToolCall(call: GeneratedCall, id: string): ToolCall {
  return { id, type: 'function', function: { name: call.name, arguments: call.arguments } };
}

function toLogprobs(content: TokenLogprob[]): ChoiceLogprobs {
  return { content, refusal: null };
}

function toPromptUsage({ prompt, cached }: Pick<TokenCounts, 'prompt' | 'cached'>): PromptUsage {
  return { prompt_tokens: prompt, prompt_tokens_details: { cached_tokens: cached } };
}

export function toUsage(tokens: TokenCounts): ChatUsage {
  const { prompt, completion, reasoning } = tokens;
  return {
    ...toPromptUsage(tokens),
    completion_tokens: completion,
    total_tokens: prompt + completion,
    completion_tokens_details: { reasoning_tokens: reasoning },
  };
}

/** Turns deltas into chunks: the role first, a call as its head and its arguments, the finish reason alone. */
export interface ChunkWriter {
  write(choice: number, delta: Delta): ChatChunk[];
  usage(tokens: TokenCounts): ChatChunk;
}

export function createChunkWriter(envelope: Envelope, newCallId: NewCallId): ChunkWriter {
  const calls = new Map<number, number>();

  function chunk(choice: number, fields: Partial<ChatChunk['choices'][number]>): ChatChunk {
    const choices = [{ index: choice, delta: {}, logprobs: null, finish_reason: null, ...fields }];
    return { ...envelope, object: 'chat.completion.chunk', choices };
  }

  return {
    write(choice, { content, reasoning, call, logprobs, finish, stop, prompt }) {
      const chunks: ChatChunk[] = [];
      if (!calls.has(choice)) {
        calls.set(choice, 0);
        const begun = chunk(choice, { delta: { role: 'assistant', content: '' } });
        chunks.push(prompt ? { ...begun, prompt: toPromptUsage(prompt) } : begun);
      }
      if (reasoning !== undefined) chunks.push(chunk(choice, { delta: bothNames(reasoning) }));
      if (content !== undefined) {
        chunks.push(chunk(choice, { delta: { content }, logprobs: logprobs ? toLogprobs(logprobs) : null }));
      }
      if (call) {
        const index = calls.get(choice)!;
        calls.set(choice, index + 1);
        const head = { index, ...toToolCall({ name: call.name, arguments: '' }, newCallId()) };
        chunks.push(chunk(choice, { delta: { tool_calls: [head] } }));
        chunks.push(
          chunk(choice, { delta: { tool_calls: [{ index, function: { arguments: call.arguments } }] } }),
        );
      }
      if (finish) chunks.push(chunk(choice, { finish_reason: finish, ...stopReason(stop) }));
      return chunks;
    },
    usage: (tokens) => ({
      ...envelope,
      object: 'chat.completion.chunk',
      choices: [],
      usage: toUsage(tokens),
    }),
  };
}

export function toCompletionChoice(
  { text, scored, finish, stop }: CompletedChoice,
  index: number,
): CompletionChoice {
  const logprobs = scored && logprobsWriter()(scored);
  return { index, text, logprobs, finish_reason: finish, ...stopReason(stop) };
}

/** Turns what is told of choices into pieces of a stream. */
export function createPieceWriter(): (index: number, delta: Delta) => NativeEvent {
  const writers = new Map<number, ReturnType<typeof logprobsWriter>>();
  return (index, { content = '', isEcho, scored, finish = null, stop }) => {
    const write = writers.get(index) ?? logprobsWriter();
    writers.set(index, write);
    const piece: CompletionPiece = {
      index,
      text: content,
      logprobs: scored ? write(scored) : null,
      finish_reason: finish,
      ...stopReason(stop),
    };
    return { type: '', data: '', fields: { choices: [piece] }, said: isEcho ? '' : content };
  };
}
