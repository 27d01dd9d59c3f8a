import type { IncomingHttpHeaders } from 'node:http';
import { ApiError } from '../../../core/errors.ts';
import { createByteQueue } from './byte-queue.ts';
import type { Exchange, Sink } from './exchange.ts';

export interface Reply<Body> {
  status: number;
  headers: IncomingHttpHeaders;
  body: Body;
}

export interface StreamedReply extends Reply<AsyncGenerator<Buffer>> {
  finish: Exchange['finish'];
  expectEnd: Exchange['expectEnd'];
}

/** Cancels a call whose answer is too long. */
abstract class BoundedSink<Settled> {
  readonly #maxBytes: number;
  #bytes = 0;
  protected readonly settled = Promise.withResolvers<Settled>();
  /** Set before any data arrives. */
  call!: Pick<Exchange, 'cancel' | 'finish' | 'expectEnd' | 'resume'>;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get reply(): Promise<Settled> {
    return this.settled.promise;
  }

  protected accepts({ length }: Buffer): boolean {
    this.#bytes += length;
    if (this.#bytes <= this.#maxBytes) return true;
    const mebibytes = Math.round(this.#maxBytes / 1024 / 1024);
    const message = `The model's server answered with more than ${mebibytes} MiB.`;
    this.call.cancel(new ApiError('invalid_upstream_response', message));
    return false;
  }
}

/** Sink whose reply resolves at the end of the answer. */
export class WholeReply extends BoundedSink<Reply<Buffer>> implements Sink {
  readonly #parts: Buffer[] = [];
  #status = 0;
  #headers: IncomingHttpHeaders = {};

  start(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  data(chunk: Buffer): boolean {
    if (this.accepts(chunk)) this.#parts.push(chunk);
    return true;
  }

  end(): void {
    const [only] = this.#parts;
    const body = only && this.#parts.length === 1 ? only : Buffer.concat(this.#parts);
    this.settled.resolve({ status: this.#status, headers: this.#headers, body });
  }

  fail(error: unknown): void {
    this.settled.reject(error);
  }
}

/** Sink whose reply resolves at the headers. Leaving the loop over its body closes the connection, except after `finish`. */
export class ReplyInParts extends BoundedSink<StreamedReply> implements Sink {
  readonly #queue = createByteQueue();

  start(status: number, headers: IncomingHttpHeaders): void {
    const { call } = this;
    const leave = () => call.cancel(new Error('the reader left'));
    this.settled.resolve({
      status,
      headers,
      body: this.#queue.read(() => call.resume(), leave),
      finish: () => call.finish(),
      expectEnd: () => call.expectEnd(),
    });
  }

  data(chunk: Buffer): boolean {
    return !this.accepts(chunk) || this.#queue.push(chunk);
  }

  end(): void {
    this.#queue.end();
  }

  fail(error: unknown): void {
    this.#queue.fail(error);
    this.settled.reject(error);
  }
}
