import { Link } from '@tanstack/react-router';
import { adviceFor } from './advice.ts';
import css from './playground.module.css';

interface BatchNoticeProps {
  /** Id of the batch. */
  batch: string | undefined;
  error: Error | null;
}

/** State of a request that was sent as a batch. */
export function BatchNotice({ batch, error }: BatchNoticeProps) {
  return (
    <div role="status" className={css.notice}>
      {error ? (
        <div className="alert">
          <p>{error.message}</p>
          <p>{adviceFor(error)}</p>
        </div>
      ) : (
        batch && (
          <p>
            Sent to <code>/v1/chat/completions</code> as the batch{' '}
            <Link to="/batches/$batchId" params={{ batchId: batch }}>
              {batch}
            </Link>
            .
          </p>
        )
      )}
    </div>
  );
}
