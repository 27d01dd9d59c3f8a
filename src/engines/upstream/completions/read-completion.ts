import type {
  CompletionChoice,
  CompletionLogprobs,
  CompletionPiece,
} from '../../../wire/completions/completions.ts';
import { logprobsWriter, type ScoredToken } from '../../../wire/completions/logprobs.ts';
import { type ReadOptions, requireEnd } from '../answer/chat-response.ts';
import type { ChunkReader } from '../answer/chunk-stream.ts';
import { type Fields, fieldsOf, isObject } from '../../../base/fields.ts';
import { finishReason, stopReason } from '../answer/finish-reason.ts';
import { givenChoices } from '../answer/given-choices.ts';
import { readLogprobs } from '../answer/logprobs.ts';
import { unusable } from '../connection/parse-body.ts';
import { type Repairs, unicode } from '../connection/repairs.ts';

export type CompletionReadOptions = Omit<ReadOptions, 'newCallId'>;

/** Reads the choices of an answer. @throws ApiError `invalid_upstream_response` */
export function readCompletion(fields: Fields, options: CompletionReadOptions): CompletionChoice[] {
  const choices = givenChoices(fields, options.choices);
  requireEnd(choices, options.usageOf(fields));
  return choices.map((choice, at) => {
    const given: Fields = { index: at, ...fieldsOf(choice) };
    if (typeof given['text'] !== 'string') throw unusable(`has no text in choice ${at}`);
    const { finish_reason, ...piece } = pieceReader(options).read(given, fields);
    return { ...piece, finish_reason: finish_reason ?? 'stop' };
  });
}

/** Reads the pieces of one stream, in order. */
export function pieceReader(options: CompletionReadOptions): ChunkReader<CompletionPiece> {
  const writers = new Map<number, ReturnType<typeof logprobsWriter>>();
  const writerOf = (index: number) => {
    const writer = writers.get(index) ?? logprobsWriter();
    writers.set(index, writer);
    return writer;
  };
  return {
    textOf: ({ text }) => text,
    read(given, event) {
      const { index: number, text, logprobs, finish_reason: finish } = given;
      const index = Number.isInteger(number) ? (number as number) : 0;
      const isOpen = (finish ?? '') === '';
      return {
        index,
        text: typeof text === 'string' ? unicode(text, options.repairs) : '',
        logprobs: readTokens(logprobs, options, writerOf(index)),
        finish_reason: isOpen ? null : finishReason(finish, false, options),
        ...(!isOpen && stopReason(given, event)),
      };
    },
  };
}

/** Reads log probabilities in the form of completions or of chats (llama-server, Ollama). */
function readTokens(
  given: unknown,
  { repairs, alternatives }: CompletionReadOptions,
  write: ReturnType<typeof logprobsWriter>,
): CompletionLogprobs | null {
  if (!isObject(given)) return null;
  const { tokens, token_logprobs: logprobs, top_logprobs: top } = given;
  if (!Array.isArray(tokens) || !Array.isArray(logprobs)) {
    const chat = readLogprobs(given, repairs, alternatives)?.content;
    return chat ? write(chat) : null;
  }
  return write(
    tokens.map((token, at): ScoredToken => ({
      token: unicode(String(token), repairs),
      logprob: typeof logprobs[at] === 'number' ? logprobs[at] : null,
      top_logprobs: alternativesOf(Array.isArray(top) ? top[at] : null, repairs),
    })),
  );
}

function alternativesOf(given: unknown, repairs: Repairs): ScoredToken['top_logprobs'] {
  return Object.entries(fieldsOf(given)).flatMap(([token, logprob]) =>
    typeof logprob === 'number' ? [{ token: unicode(token, repairs), logprob }] : [],
  );
}
