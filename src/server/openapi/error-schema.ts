import { Type } from '../../wire/json-schema.ts';

const nullableString = { type: ['string', 'null'] };

/** The one error body of every route (api.md, section 2). */
export const errorSchema = Type.Object(
  {
    type: Type.Literal('error'),
    error: Type.Object({
      type: Type.String(),
      code: Type.String(),
      message: Type.String(),
      param: nullableString,
      details: Type.Object({
        error_code: Type.String({ description: 'the same as code' }),
        errors: Type.Array(
          Type.Object({
            line: Type.Optional(Type.Integer({ description: '1-based line of the file' })),
            custom_id: Type.Optional(Type.String()),
            param: Type.Optional(Type.String()),
            code: Type.String(),
            message: Type.String(),
          }),
          { maxItems: 100 },
        ),
      }),
    }),
    message: Type.String(),
    detail: Type.Optional(
      Type.Array(Type.Object({ loc: Type.Array(Type.Unknown()), msg: Type.String(), type: Type.String() })),
    ),
    request_id: Type.String({ description: 'req_<id>, as in the headers x-request-id and request-id' }),
  },
  { title: 'Error' },
);
