/** Unknown field of request bodies, such as a misspelt parameter, with the number of its requests. */
export interface FieldWarning {
  code: 'unknown_field';
  /** Path in the body, without positions in lists: `max_token`, `messages[].contnt`. */
  field: string;
  count: number;
  /** Known field that the client may mean; null if none is similar. */
  suggestion: string | null;
  /** Number of the first line with the field; null for a single request. */
  line: number | null;
}
