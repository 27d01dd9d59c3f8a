import type { FunctionCall } from '../request/body.ts';
import type { CallForm } from '../request/canonical.ts';
import type {
  AssistantMessage,
  ChatChoice,
  ChatChunk,
  ChatDelta,
  ChatResponse,
  FinishReason,
} from '../chat.ts';
import { type CustomChunk, type CustomResponse, customChunks, toCustomResponse } from './custom-answer.ts';

type OlderFinish = Exclude<FinishReason, 'tool_calls'> | 'function_call';

/** A chat completion for a client that sent `functions`. */
interface FunctionsResponse extends Omit<ChatResponse, 'choices'> {
  choices: (Omit<ChatChoice, 'message' | 'finish_reason'> & {
    message: Omit<AssistantMessage, 'tool_calls'> & { function_call?: FunctionCall };
    finish_reason: OlderFinish;
  })[];
}

interface FunctionsChunk extends Omit<ChatChunk, 'choices'> {
  choices: (Omit<ChatChunk['choices'][number], 'delta' | 'finish_reason'> & {
    delta: Omit<ChatDelta, 'tool_calls'> & { function_call?: Partial<FunctionCall> };
    finish_reason: OlderFinish | null;
  })[];
}

/** The answer in the words of the request. */
export function presentChat(
  response: ChatResponse,
  { hasFunctions, customs }: CallForm,
): ChatResponse | CustomResponse | FunctionsResponse {
  if (hasFunctions) return toFunctionsResponse(response);
  return customs.size > 0 ? toCustomResponse(response, customs) : response;
}

/** A chunk in the words of its client. */
export type PresentedChunk = CustomChunk | FunctionsChunk;

/** What makes such chunks of those of one stream; none where they are right as they are. */
export function chunkPresenter({
  hasFunctions,
  customs,
}: CallForm): ((chunk: ChatChunk) => PresentedChunk) | undefined {
  if (hasFunctions) return toFunctionsChunk;
  return customs.size > 0 ? customChunks(customs) : undefined;
}

/** An answer with its call where functions had it. A second call, which nobody was asked for, has no place there. */
function toFunctionsResponse(response: ChatResponse): FunctionsResponse {
  return {
    ...response,
    choices: response.choices.map(({ message, finish_reason: finish, ...choice }) => {
      const { tool_calls: calls, ...said } = message;
      const called = calls?.[0]?.function;
      return {
        ...choice,
        message: { ...said, ...(called && { function_call: called }) },
        finish_reason: olderFinish(finish),
      };
    }),
  };
}

function toFunctionsChunk(chunk: ChatChunk): FunctionsChunk {
  return {
    ...chunk,
    choices: chunk.choices.map(({ delta, finish_reason: finish, ...choice }) => {
      const { tool_calls: calls, ...said } = delta;
      const called = calls?.find(({ index }) => index === 0)?.function;
      return {
        ...choice,
        delta: { ...said, ...(called && { function_call: called }) },
        finish_reason: finish === null ? null : olderFinish(finish),
      };
    }),
  };
}

function olderFinish(finish: FinishReason): OlderFinish {
  return finish === 'tool_calls' ? 'function_call' : finish;
}
