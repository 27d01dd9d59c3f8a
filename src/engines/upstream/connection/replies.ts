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
  /** Everything that matters has come; or will have in a moment, and the body fails if it has not ended then. */
  finish: () => void;
  expectEnd: () => void;
}

/** Counts the bytes of an answer and cancels its call where they are too many. */
abstract class Bounded {
  readonly #longest: number;
  #bytes = 0;
  /** Of the call whose answer it is, set before anything comes. */
  call!: Pick<Exchange, 'cancel' | 'finish' | 'expectEnd' | 'resume'>;

  constructor(longest: number) {
    this.#longest = longest;
  }

  protected takes({ length }: Buffer): boolean {
    this.#bytes += length;
    if (this.#bytes <= this.#longest) return true;
    this.call.cancel(tooLong(this.#longest));
    return false;
  }
}

/** An answer that is there once it has ended. */
export class WholeReply extends Bounded implements Sink {
  readonly #told = Promise.withResolvers<Reply<Buffer>>();
  readonly #parts: Buffer[] = [];
  #status = 0;
  #headers: IncomingHttpHeaders = {};

  get reply(): Promise<Reply<Buffer>> {
    return this.#told.promise;
  }

  start(status: number, headers: IncomingHttpHeaders): void {
    this.#status = status;
    this.#headers = headers;
  }

  data(chunk: Buffer): boolean {
    if (this.takes(chunk)) this.#parts.push(chunk);
    return true;
  }

  end(): void {
    const [only] = this.#parts;
    const body = only && this.#parts.length === 1 ? only : Buffer.concat(this.#parts);
    this.#told.resolve({ status: this.#status, headers: this.#headers, body });
  }

  fail(error: unknown): void {
    this.#told.reject(error);
  }
}

/** An answer that is there at its headers. Who leaves the loop over its body early closes the connection, unless `finish` was called. */
export class ReplyInParts extends Bounded implements Sink {
  readonly #told = Promise.withResolvers<StreamedReply>();
  readonly #unread = createByteQueue();

  get reply(): Promise<StreamedReply> {
    return this.#told.promise;
  }

  start(status: number, headers: IncomingHttpHeaders): void {
    const { call } = this;
    const leave = () => call.cancel(new Error('the reader left'));
    this.#told.resolve({
      status,
      headers,
      body: this.#unread.read(() => call.resume(), leave),
      finish: () => call.finish(),
      expectEnd: () => call.expectEnd(),
    });
  }

  data(chunk: Buffer): boolean {
    return !this.takes(chunk) || this.#unread.push(chunk);
  }

  end(): void {
    this.#unread.end();
  }

  fail(error: unknown): void {
    this.#unread.fail(error);
    this.#told.reject(error);
  }
}

function tooLong(bytes: number): ApiError {
  const mebibytes = Math.round(bytes / 1024 / 1024);
  return new ApiError(
    'invalid_upstream_response',
    `The model's server answered with more than ${mebibytes} MiB.`,
  );
}
