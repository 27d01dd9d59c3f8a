/** A JSON document parsed and as it came: engines forward the text, so that numbers keep every digit they had. */
export interface JsonBody<T> {
  value: T;
  text: string;
}
