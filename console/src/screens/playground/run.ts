import { EventSourceParserStream } from 'eventsource-parser/stream';
import { toFailure } from '../../api/failure.ts';
import { send } from '../../api/send.ts';
import { type Answer, createAnswerReader } from './answer.ts';
import { post } from './post.ts';
import { type Format, paths } from './search.ts';

/** A request and what came of it. Instants are milliseconds of the page's clock. */
export interface Run {
  status: 'running' | 'done' | 'stopped' | 'failed';
  answer: Answer;
  startedAt: number;
  /** First text, reasoning or call of the answer. */
  firstAt: number | null;
  endedAt: number | null;
  requestId: string | null;
  error: Error | null;
}

interface RunOptions {
  format: Format;
  body: Record<string, unknown>;
  signal: AbortSignal;
  now: () => number;
  /** Called with every change. */
  onChange: (run: Run) => void;
}

/** Sends a request and reads its answer, as a stream where the body asks for one. Never rejects. */
export async function runRequest({ format, body, signal, now, onChange }: RunOptions): Promise<void> {
  const reader = createAnswerReader(format);
  let run: Run = {
    status: 'running',
    answer: reader.answer,
    startedAt: now(),
    firstAt: null,
    endedAt: null,
    requestId: null,
    error: null,
  };
  const change = (changes: Partial<Run>) => {
    run = { ...run, ...changes, answer: { ...reader.answer } };
    onChange(run);
  };
  onChange(run);
  try {
    const response = await send(post(paths[format], body, signal));
    change({ requestId: response.headers.get('x-request-id') });
    if (!response.ok) throw toFailure(response.status, await response.json().catch(() => undefined));
    if (body['stream'] === true && response.body) {
      for await (const event of readEvents(response.body)) {
        reader.addEvent(event);
        change(run.firstAt === null && hasBegun(reader.answer) ? { firstAt: now() } : {});
      }
    } else reader.addBody(await response.json());
    change({ status: 'done', endedAt: now() });
  } catch (error) {
    const failure = error instanceof Error ? error : new Error(String(error));
    change(
      signal.aborted
        ? { status: 'stopped', endedAt: now() }
        : { status: 'failed', endedAt: now(), error: failure },
    );
  }
}

async function* readEvents(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator {
  const events = body.pipeThrough(new TextDecoderStream()).pipeThrough(new EventSourceParserStream());
  for await (const { data } of events) if (data !== '[DONE]') yield JSON.parse(data);
}

function hasBegun({ text, reasoning, calls }: Answer): boolean {
  return text !== '' || reasoning !== '' || calls.length > 0;
}
