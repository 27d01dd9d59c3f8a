import { string, stringOrNull, integer, array, object, literal } from '../../wire/schema.ts';

/** The one error body of every route (api.md, section 2). */
export const errorSchema = object(
  {
    type: literal('error'),
    error: object({
      type: string(),
      code: string(),
      message: string(),
      param: stringOrNull(),
      details: object({
        error_code: string({ description: 'the same as code' }),
        errors: array(
          object({
            'line?': integer({ description: '1-based line of the file' }),
            'custom_id?': string(),
            'param?': string(),
            code: string(),
            message: string(),
          }),
          { maxItems: 100 },
        ),
      }),
    }),
    message: string(),
    'detail?': array(object({ loc: array({}), msg: string(), type: string() })),
    request_id: string({ description: 'req_<id>, as in the headers x-request-id and request-id' }),
  },
  { title: 'Error' },
);
