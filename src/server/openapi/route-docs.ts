import type { Schema } from '../../wire/schema.ts';
import type { QueryDocs } from './query-schemas.ts';

/** What the OpenAPI document tells of a route, beyond what the route itself says. */
export interface RouteDocs {
  /** The name of the operation, as in the specification: `Create Batch`. */
  name: string;
  summary: string;
  tag:
    | 'Batches'
    | 'Message batches'
    | 'Files'
    | 'Generation'
    | 'Responses'
    | 'Conversations'
    | 'Chat Completions'
    | 'Models'
    | 'Webhooks'
    | 'Admin'
    | 'Server';
  query?: QueryDocs;
  /** The body, the same schema that validates it. */
  body?: Schema;
  /** What a success looks like: its status, and its content type. */
  answer: {
    status: 200 | 201;
    type: 'application/json' | 'application/jsonl' | 'application/octet-stream' | 'text/event-stream';
    schema?: Schema;
  };
  /** Another success that the body may ask for. */
  otherAnswer?: { status: 200; description: string; schema: Schema };
}
