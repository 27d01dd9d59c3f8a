import type { ChatDelta, TokenLogprob } from '../../../../wire/chat/chat.ts';
import { createChannelSegmenter } from './channels.ts';
import type { Family } from '../families.ts';
import type { Segment, Segmenter, WrittenCall } from './segments.ts';
import { createStopFilter } from './stop.ts';
import { createThinkingSegmenter } from './thinking.ts';
import { createCallSegmenter } from './tool-calls.ts';

export type AnswerText = ReturnType<typeof createAnswerText>;

/** A token whose text is certain, where its log probability is asked for. */
export interface CertainToken {
  /** What it adds to the answer. */
  text: string;
  logprob: TokenLogprob;
}

/** The tools an answer may call. */
export interface CallableTools {
  names: ReadonlySet<string>;
  /** Calls in one answer. */
  maxCalls: number;
  newCallId: () => string;
}

export interface AnswerOptions {
  /** Null is a raw text: nothing in it is a thought or a call, and each of its tokens is told. */
  family: Family | null;
  /** Whether the prompt opened the thinking, for families that think between marks. */
  isThinking?: boolean;
  stops: readonly string[];
  /** Undefined leaves the text as it is. */
  tools?: CallableTools | undefined;
  /** A call comes as its head and its arguments. */
  onDelta: (delta: ChatDelta, certain?: readonly CertainToken[]) => void;
}

/** Reads one answer: keeps thoughts apart, cuts at stop strings, takes the calls out, and tells what became certain. */
export function createAnswerText(options: AnswerOptions) {
  const { family, tools, onDelta } = options;
  const segmenter = segmenterOf(options);
  const filter = createStopFilter(options.stops);
  // In channels a call has a header that says so.
  const callSegmenter =
    tools && family?.hasChannels === false ? createCallSegmenter(tools.names, family.calls) : plain;
  const read = {
    /** How many calls it holds. */
    calls: 0,
    /** The text that went in, up to the stop string. */
    raw: '',
    /** How many of the tokens that went in were thoughts; those of the marks around them are not. */
    reasoningTokens: 0,
    /** The stop string that was met, if any. */
    stop: undefined as string | undefined,
  };
  // Log probabilities wait until the text of their token is certain.
  const waiting: (CertainToken & { at: number })[] = [];
  let received = 0;
  /** Tokens whose text is held back, because more of it must tell what it is. */
  let undecided = 0;

  function countThoughts(segments: readonly Segment[]): void {
    if (segments.length === 0) return;
    if (segments.some(({ kind }) => kind === 'thought')) read.reasoningTokens += undecided;
    undecided = 0;
  }

  /** Returns whether a stop string was met. */
  function take(segment: Segment): boolean {
    switch (segment.kind) {
      case 'call':
        tellCall(segment.call);
        return false;
      case 'said': {
        const cut = filter.push(segment.text);
        say(cut.text);
        read.stop ??= cut.stop;
        return cut.stop !== undefined;
      }
      default:
        read.raw += segment.text;
        // Nobody is told the probabilities of what is not said.
        certain();
        // Clients read the one or the other.
        if (segment.kind === 'thought') onDelta({ reasoning: segment.text, reasoning_content: segment.text });
        return false;
    }
  }

  function say(text: string): void {
    read.raw += text;
    callSegmenter.push(text).forEach(tell);
  }

  function tell(segment: Segment): void {
    if (segment.kind === 'call') tellCall(segment.call);
    else if (segment.text !== '') onDelta({ content: segment.text }, certain());
  }

  /** The log probabilities of all tokens that were read to their end. */
  function certain(): CertainToken[] {
    const open = waiting.findIndex(({ at }) => at >= read.raw.length);
    return waiting.splice(0, open === -1 ? waiting.length : open);
  }

  function tellCall({ name, arguments: given }: WrittenCall): void {
    if (isFull()) return;
    const index = read.calls++;
    onDelta({
      tool_calls: [{ index, id: tools!.newCallId(), type: 'function', function: { name, arguments: '' } }],
    });
    onDelta({ tool_calls: [{ index, function: { arguments: given } }] });
  }

  const isFull = (): boolean => tools !== undefined && read.calls >= tools.maxCalls;

  return Object.assign(read, {
    /** Takes the text of one token. Returns whether the answer is over: at a stop string, or with the last call it may make. */
    push(text: string, logprob?: TokenLogprob): boolean {
      if (logprob) waiting.push({ at: received, text, logprob });
      received += text.length;
      undecided += 1;
      if (text === '') return false;
      const segments = segmenter.push(text);
      countThoughts(segments);
      for (const segment of segments) if (take(segment)) return true;
      return isFull();
    },
    /** Adds text that no stop string may cut. */
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
      callSegmenter.end().forEach(tell);
      // Those without a text, and the one that ended it.
      if (!family && read.stop === undefined && waiting.length > 0)
        onDelta({ content: '' }, waiting.splice(0));
    },
  });
}

const plain: Segmenter = { push: (text) => [{ kind: 'said', text }], end: () => [] };

function segmenterOf({ family, isThinking = false, tools }: AnswerOptions): Segmenter {
  if (family?.hasChannels) return createChannelSegmenter(tools?.names ?? new Set());
  if (family?.thinking) return createThinkingSegmenter(family.thinking, isThinking);
  return plain;
}
