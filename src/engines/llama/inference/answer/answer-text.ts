import type { TokenLogprob } from '../../../../wire/chat/chat.ts';
import type { Delta, GeneratedCall } from '../../protocol.ts';
import { createChannelSegmenter } from './channels.ts';
import type { Family } from '../families.ts';
import type { Segment, Segmenter } from './segments.ts';
import { createStopFilter } from './stop.ts';
import { createThinkingSegmenter } from './thinking.ts';
import { type ToolCallPart, createToolCallParser } from './tool-calls.ts';

/** Gathers one answer: keeps thoughts apart, cuts at stop strings, takes the calls out, and tells what became certain. */
export interface AnswerText {
  /** The answer without its calls and thoughts. */
  readonly content: string;
  readonly reasoning: string;
  readonly calls: GeneratedCall[];
  readonly logprobs: TokenLogprob[];
  /** The text that went in, up to the stop string. */
  readonly raw: string;
  /** How many of the tokens that went in were thoughts; those of the marks around them are not. */
  readonly reasoningTokens: number;
  /** The stop string that was met, if any. */
  readonly stop: string | undefined;
  /** Takes the text of one token. Returns whether the answer is over: at a stop string, or with the last call it may make. */
  push(text: string, logprob?: TokenLogprob): boolean;
  /** Adds text that no stop string may cut. */
  append(text: string): void;
  end(): void;
}

export interface AnswerOptions {
  family: Family;
  /** Whether the prompt opened the thinking, for families that think between marks. */
  isThinking: boolean;
  stops: readonly string[];
  /** Names of the tools the answer may call; undefined leaves the text as it is. */
  tools: ReadonlySet<string> | undefined;
  maxCalls: number;
  onDelta: (delta: Delta) => void;
}

export function createAnswerText(options: AnswerOptions): AnswerText {
  const { family, tools, maxCalls, onDelta } = options;
  const segmenter = segmenterOf(options);
  const filter = createStopFilter(options.stops);
  // In channels a call has a header that says so.
  const parser = tools && !family.hasChannels ? createToolCallParser(tools, family.calls) : undefined;
  const gathered = {
    content: '',
    reasoning: '',
    calls: [] as GeneratedCall[],
    logprobs: [] as TokenLogprob[],
    raw: '',
    reasoningTokens: 0,
    stop: undefined as string | undefined,
  };
  // Log probabilities wait until the text of their token is certain.
  const waiting: { at: number; logprob: TokenLogprob }[] = [];
  let received = 0;
  /** Tokens whose text is held back, because more of it must tell what it is. */
  let undecided = 0;

  function countThoughts(segments: readonly Segment[]): void {
    if (segments.length === 0) return;
    if (segments.some(({ kind }) => kind === 'thought')) gathered.reasoningTokens += undecided;
    undecided = 0;
  }

  /** Returns whether a stop string was met. */
  function take(segment: Segment): boolean {
    switch (segment.kind) {
      case 'call':
        add({ call: segment.call });
        return false;
      case 'said': {
        const cut = filter.push(segment.text);
        say(cut.text);
        gathered.stop ??= cut.stop;
        return cut.stop !== undefined;
      }
      default:
        gathered.raw += segment.text;
        // Nobody is told the probabilities of what is not said.
        while (waiting.length > 0 && waiting[0]!.at < gathered.raw.length) waiting.shift();
        if (segment.kind === 'mark') return false;
        gathered.reasoning += segment.text;
        onDelta({ reasoning: segment.text });
        return false;
    }
  }

  function say(text: string): void {
    gathered.raw += text;
    for (const part of parser ? parser.push(text) : [{ content: text }]) add(part);
  }

  function add(part: ToolCallPart): void {
    if ('call' in part) {
      if (gathered.calls.length >= maxCalls) return;
      gathered.calls.push(part.call);
      onDelta({ call: part.call });
      return;
    }
    if (part.content === '') return;
    gathered.content += part.content;
    const certain: TokenLogprob[] = [];
    while (waiting.length > 0 && waiting[0]!.at < gathered.raw.length) certain.push(waiting.shift()!.logprob);
    gathered.logprobs.push(...certain);
    onDelta(certain.length > 0 ? { content: part.content, logprobs: certain } : { content: part.content });
  }

  return Object.assign(gathered, {
    push(text: string, logprob?: TokenLogprob) {
      if (logprob) waiting.push({ at: received, logprob });
      received += text.length;
      undecided += 1;
      if (text === '') return false;
      const segments = segmenter.push(text);
      countThoughts(segments);
      for (const segment of segments) if (take(segment)) return true;
      return gathered.calls.length >= maxCalls;
    },
    append(text: string) {
      say(filter.end());
      for (const segment of segmenter.push(text)) {
        if (segment.kind === 'said') say(segment.text);
        else take(segment);
      }
    },
    end() {
      const segments = segmenter.end();
      countThoughts(segments);
      for (const segment of segments) take(segment);
      say(filter.end());
      for (const part of parser?.end() ?? []) add(part);
    },
  });
}

function segmenterOf({ family, isThinking, tools }: AnswerOptions): Segmenter {
  if (family.hasChannels) return createChannelSegmenter(tools ?? new Set());
  if (family.thinking) return createThinkingSegmenter(family.thinking, isThinking);
  return { push: (text) => [{ kind: 'said', text }], end: () => [] };
}
