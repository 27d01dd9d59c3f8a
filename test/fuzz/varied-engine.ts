import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { Engine } from '../../src/engines/engines.ts';
import type {
  AssistantMessage,
  ChatChunk,
  ChatDelta,
  ChatRequest,
  ChatResponse,
  FinishReason,
  ToolCall,
} from '../../src/wire/chat/chat.ts';
import { checkChatRequest } from '../../src/wire/chat/request/request.ts';
import type { JsonBody } from '../../src/wire/json/json-body.ts';
import { createSeededRandom, type SeededRandom } from '../support/seeded-random.ts';

interface AnswerParts {
  message: AssistantMessage;
  finish: FinishReason;
  deltas: ChatDelta[];
}

const texts = [
  'Hello.',
  ' ',
  '日本語👩‍👩‍👧‍👦',
  'a\r\nb\u2028c',
  '<think>',
  'data: x\n\nevent: y',
  '\ud83d',
  '{"a":1}',
];
const argumentTexts = ['{}', '{"a":"\\u2028"}', '{"n":12345678901234567890}', '', '{"a":{"b":[1,2]}}'];

/**
 * Extends the scripted engine with the variety of real ones: reasoning, text and parallel calls, split into chunks of any
 * size. It keeps every guarantee and is deterministic for each request.
 */
export function withVariedAnswers(engine: Engine): Engine {
  return {
    ...engine,
    async generate(request, call) {
      requireShape(request);
      const answer = await engine.generate(request, call);
      if (!isFree(request.value, request.text)) return answer;
      const choices = answer.choices.map((choice): ChatResponse['choices'][number] => {
        const { message, finish } = said(request.value, seeded(`${choice.index}${promptOf(request.value)}`));
        return {
          ...choice,
          message,
          finish_reason: finish,
          logprobs: logprobsOf(request.value, message.content),
        };
      });
      return { ...answer, choices };
    },
    async *stream(request, call) {
      requireShape(request);
      if (!isFree(request.value, request.text)) return yield* engine.stream(request, call);
      let head: ChatChunk | undefined;
      let last: ChatChunk | undefined;
      for await (const chunks of engine.stream(request, call)) {
        head ??= chunks[0];
        last = chunks.at(-1);
      }
      for (let index = 0; index < (request.value.n ?? 1); index++) {
        const { deltas, finish } = said(request.value, seeded(`${index}${promptOf(request.value)}`));
        const chunk = (delta: ChatDelta, reason: FinishReason | null = null): ChatChunk => ({
          ...head!,
          choices: [
            {
              index,
              delta,
              logprobs: logprobsOf(request.value, delta.content ?? null),
              finish_reason: reason,
            },
          ],
        });
        const chunks = [...deltas.map((delta) => chunk(delta)), chunk({}, finish)];
        // Some servers send each delta separately, some send all at once.
        if (promptOf(request.value).length % 2 === 0) yield chunks;
        else for (const each of chunks) yield [each];
      }
      yield [last!];
    },
  };
}

/** Checks that every format arrives as a chat request that our own API accepts, and that its text is equal. */
function requireShape({ value, text }: JsonBody<ChatRequest>): void {
  const faults = checkChatRequest(value).filter(({ param = '' }) => !wider.test(param));
  if (faults.length > 0) throw new Error(`a malformed request: ${faults[0]!.param} ${faults[0]!.message}`);
  // Compares parsed JSON, because the order of fields may differ and JSON.stringify writes -0 as 0.
  const [told, meant] = [JSON.parse(text) as unknown, value].map(
    (each) => JSON.parse(JSON.stringify(each)) as unknown,
  );
  if (!isDeepStrictEqual(told, meant)) throw new Error('a request with two meanings');
}

// Messages allow more stop sequences and longer tool names than chat.
const wider = /^stop$|name$/;

/** True if the request has no guarantee and no directive. */
function isFree({ tool_choice: choice, response_format: format }: ChatRequest, text: string): boolean {
  return (
    !text.includes('[[') && (choice ?? 'auto') === 'auto' && (format ?? { type: 'text' }).type === 'text'
  );
}

/** Text that seeds the answer: equal for streamed and plain requests. */
const promptOf = ({ messages }: ChatRequest) => JSON.stringify(messages);

function seeded(text: string): SeededRandom {
  return createSeededRandom(createHash('sha256').update(text).digest().readUInt32LE());
}

function said(request: ChatRequest, random: SeededRandom): AnswerParts {
  const reasoning = random.chance(0.5) ? random.pick(texts) : null;
  const before = random.chance(0.7) ? random.pick(texts) : null;
  const refuses = random.chance(0.05);
  const calls = Array.from({ length: random.int(0, 3) }, (_, at): ToolCall | undefined => {
    const tool = request.tools?.[random.int(0, request.tools.length - 1)];
    if (!tool) return undefined;
    const json = random.pick(argumentTexts);
    return {
      id: `call_${at}_${random.int(0, 999)}`,
      type: 'function',
      function: { name: tool.function.name, arguments: json },
    };
  }).filter((call) => call !== undefined);
  const content = before ?? (calls.length === 0 ? random.pick(['', 'ok']) : null);
  const message: AssistantMessage = {
    role: 'assistant',
    content,
    refusal: refuses ? 'I cannot.' : null,
    ...(reasoning !== null && { reasoning, reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  // Some engines report `stop` after a call.
  const finish =
    calls.length > 0
      ? random.pick(['tool_calls', 'stop'] as const)
      : random.pick(['stop', 'stop', 'length', 'content_filter'] as const);
  return { message, finish, deltas: deltasOf({ ...message, refusal: null }, random) };
}

function deltasOf(
  { content, reasoning, tool_calls: calls = [] }: AssistantMessage,
  random: SeededRandom,
): ChatDelta[] {
  const grown = calls.map(({ id, function: { name, arguments: json } }, index): ChatDelta[] => [
    { tool_calls: [{ index, id, type: 'function', function: { name, arguments: '' } }] },
    ...pieces(json, random).map((part) => ({ tool_calls: [{ index, function: { arguments: part } }] })),
  ]);
  return [
    { role: 'assistant', content: '' },
    ...pieces(reasoning ?? '', random).map((part) => ({ reasoning: part, reasoning_content: part })),
    ...pieces(content ?? '', random).map((part) => ({ content: part })),
    ...(random.chance(0.5) ? grown.flat() : sideBySide(grown)),
  ];
}

function sideBySide<T>(lists: T[][]): T[] {
  const longest = Math.max(0, ...lists.map(({ length }) => length));
  return Array.from({ length: longest }, (_, at) => lists.flatMap((list) => list.slice(at, at + 1))).flat();
}

/** Splits at any code unit, even inside a character. */
function pieces(text: string, random: SeededRandom): string[] {
  const cut: string[] = [];
  for (let at = 0; at < text.length;) {
    const size = random.int(1, 9);
    cut.push(text.slice(at, at + size));
    at += size;
  }
  return cut;
}

function logprobsOf(
  { logprobs }: ChatRequest,
  content: string | null,
): ChatResponse['choices'][number]['logprobs'] {
  if (logprobs !== true || !content) return null;
  return { content: [{ token: content, logprob: -0.5, bytes: null, top_logprobs: [] }], refusal: null };
}
