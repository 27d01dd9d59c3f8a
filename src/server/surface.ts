import type { BatchRules, DateForm } from '../core/batch.ts';
import type { ErrorFormat } from '../wire/errors/error-body.ts';

/** Variant of the API for one family of clients. All surfaces have the same routes; a surface defines the differences. */
export interface Surface {
  /** Path of a route on this surface; undefined if the surface does not have it. */
  pathOf(route: { method: string; path: string; access: string }): string | undefined;
  /** Header with the key of requests without `Authorization`; by default only `Authorization` is accepted. */
  keyHeader?: 'x-api-key' | 'api-key';
  /** True if the session of the console determines the caller. */
  isConsole?: true;
  /** Status of an answer with a new resource. */
  createdStatus: 200 | 201;
  /** Format of the times of batches. */
  dates: DateForm;
  /** Format of all errors; by default that of the route. */
  errors?: ErrorFormat;
  /** Prefix of full URLs in answers, for clients that do not accept paths. */
  fullUrls?: string;
  /** True if new batches may name a model, which is ignored: each request has its own. */
  ignoresModel?: true;
  /** True if the parameter of the path is the model of the request, in place of one in the body. */
  modelInPath?: true;
  /** Rules of new batches and of their files. */
  rules: BatchRules;
}
