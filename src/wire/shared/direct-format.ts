import type { IdPrefix } from '../../base/ids.ts';
import type { BatchEndpoint } from '../../core/batch.ts';
import type { Schema } from '../schema/schema.ts';
import type { Validator } from '../schema/validate.ts';

/** Members that every direct request has. */
export interface DirectRequest {
  model: string;
  service_tier?: string | null;
  [extra: string]: unknown;
}

/** Answer of an engine, which `present` turns into that of the endpoint. */
export interface DirectResult {
  promptTokens: number;
}

/**
 * One kind of requests that go to engines in their own format and are answered in one piece. Routes, batch lines, limits and the
 * OpenAPI document follow from this; `engines/upstream/direct` adapts it to servers.
 */
export interface DirectFormat<Request extends DirectRequest, Result extends DirectResult> {
  endpoint: BatchEndpoint;
  /** Name and summary of the route. */
  name: string;
  summary: string;
  requestSchema: Schema;
  responseSchema: Schema;
  check: Validator;
  /** Model of a single request that names none; such a request is a fault if absent. */
  defaultModel?: string;
  /** Members of the smallest request, without the model. */
  smallest: Omit<Request, 'model'>;
  /** Estimated tokens of the input. */
  inputTokens: (request: Request) => number;
  /** Paths of images that are named by URL. */
  imageUrlPaths?: (request: Request) => Iterable<string>;
  /** Prefix of the id of an answer; none has an id if absent. */
  idPrefix?: IdPrefix;
  /** Keeps what the answer needs of the request, which may be released before the answer is there. */
  presenter: (request: Request) => (result: Result, name: AnswerName) => object;
}

export interface AnswerName {
  id: string;
  /** Unix seconds. */
  created: number;
  /** Id of the model that served the request. */
  model: string;
}
