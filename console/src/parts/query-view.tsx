import type { UseQueryResult } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { ErrorState } from './error-state.tsx';
import { Loading } from './loading.tsx';

interface QueryViewProps<T> {
  query: Pick<UseQueryResult<T>, 'data' | 'error' | 'refetch'>;
  /** Begin of the sentence "... could not be loaded", such as `The batches`. */
  what: string;
  /** Usual number of rows, of the height of a table's. */
  rows?: number;
  children: (data: T) => ReactNode;
}

/** Data of a query: loading at first, an error that can be retried, and old data while newer is not to be had. */
export function QueryView<T>({ query, what, rows, children }: QueryViewProps<T>) {
  const { data, error, refetch } = query;
  if (data !== undefined) return children(data);
  if (error) return <ErrorState error={error} what={what} onRetry={() => void refetch()} />;
  return <Loading what={what.toLowerCase()} {...(rows !== undefined && { rows })} />;
}
