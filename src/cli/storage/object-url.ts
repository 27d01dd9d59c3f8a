import { CliError } from '../shared/exit-codes.ts';

/** Object of an S3-compatible store. */
export interface ObjectUrl {
  bucket: string;
  key: string;
  /** `s3://bucket/key` */
  url: string;
}

export function isObjectUrl(place: string): boolean {
  return place.startsWith('s3://');
}

/** @throws CliError for a URL that names no object */
export function parseObjectUrl(url: string): ObjectUrl {
  const [, bucket, key = ''] = /^s3:\/\/([a-z0-9][\w.-]+)\/(.+)$/i.exec(url) ?? [];
  if (bucket === undefined || key.endsWith('/'))
    throw new CliError(
      `'${url}' does not name an object.`,
      'Write s3://bucket/key, such as s3://data/in.jsonl.',
    );
  return { bucket, key, url };
}

/** Name of an object without the folders of its key. */
export function objectName({ key }: ObjectUrl): string {
  return key.split('/').at(-1)!;
}
