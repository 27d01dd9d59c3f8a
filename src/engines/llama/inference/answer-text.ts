import type { TokenLogprob } from '../../../wire/chat/chat.ts';
import type { Delta, GeneratedCall } from '../protocol.ts';
import { createStopFilter } from './stop.ts';
import { type ToolCallPart, createToolCallParser } from './tool-calls.ts';

/** Gathers one answer: cuts it at stop strings, takes the tool calls out, and tells what became certain. */
export interface AnswerText {
  /** The answer without its calls. */
  readonly content: string;
  readonly calls: GeneratedCall[];
  readonly logprobs: TokenLogprob[];
  /** The text that went in, up to the stop string. */
  readonly raw: string;
  /** Returns whether a stop string was met. */
  push(text: string, logprob?: TokenLogprob): boolean;
  /** Adds text that no stop string may cut. */
  append(text: string): void;
  end(): void;
}

export interface AnswerOptions {
  stops: readonly string[];
  /** Names of the tools the answer may call; undefined leaves the text as it is. */
  tools: ReadonlySet<string> | undefined;
  bareJson: boolean;
  onDelta: (delta: Delta) => void;
}

export function createAnswerText({ stops, tools, bareJson, onDelta }: AnswerOptions): AnswerText {
  const filter = createStopFilter(stops);
  const parser = tools ? createToolCallParser(tools, { bareJson }) : undefined;
  const calls: GeneratedCall[] = [];
  const logprobs: TokenLogprob[] = [];
  // Log probabilities wait until the text of their token is certain.
  const waiting: { at: number; logprob: TokenLogprob }[] = [];
  let content = '';
  let raw = '';
  let received = 0;

  function release(text: string): void {
    raw += text;
    for (const part of parser ? parser.push(text) : [{ content: text }]) add(part);
  }

  function add(part: ToolCallPart): void {
    if ('call' in part) {
      calls.push(part.call);
      onDelta({ call: part.call });
      return;
    }
    if (part.content === '') return;
    content += part.content;
    const certain: TokenLogprob[] = [];
    while (waiting.length > 0 && waiting[0]!.at < raw.length) certain.push(waiting.shift()!.logprob);
    logprobs.push(...certain);
    onDelta(certain.length > 0 ? { content: part.content, logprobs: certain } : { content: part.content });
  }

  return {
    get content() {
      return content;
    },
    get raw() {
      return raw;
    },
    calls,
    logprobs,
    push(text, logprob) {
      if (logprob) waiting.push({ at: received, logprob });
      received += text.length;
      if (text === '') return false;
      const { text: certain, isStopped } = filter.push(text);
      release(certain);
      return isStopped;
    },
    append(text) {
      release(filter.end() + text);
    },
    end() {
      release(filter.end());
      for (const part of parser?.end() ?? []) add(part);
    },
  };
}
