import type { Batch } from '../../api/batches.ts';
import { apiBase } from '../../api/client.ts';
import { hasScope, useSession } from '../../api/session.ts';
import css from './batch.module.css';

/** Input and results of a batch of the own org. Operators see the content of no other org. */
export function Downloads({ batch }: { batch: Batch }) {
  const session = useSession();
  const isOwn = batch.org_id === undefined || batch.org_id === session.org_id;
  const canRead = hasScope(session, 'batches:read');
  if (!isOwn || !canRead)
    return <p className="quiet">Sign in with a key of the org to download its requests and results.</p>;
  const { completed, failed } = batch.request_counts;
  const links = [
    hasScope(session, 'files:read') && {
      href: `${apiBase}/v1/files/${batch.input_file_id}/content`,
      name: `${batch.id}_input.jsonl`,
      text: 'Requests',
    },
    completed > 0 && {
      href: `${apiBase}/v1/batches/${batch.id}/output`,
      name: `${batch.id}_output.jsonl`,
      text: 'Results',
    },
    failed > 0 && {
      href: `${apiBase}/v1/batches/${batch.id}/errors`,
      name: `${batch.id}_errors.jsonl`,
      text: 'Errors',
    },
  ].filter((link) => link !== false);
  return (
    <ul className={css.downloads}>
      {links.map(({ href, name, text }) => (
        <li key={text}>
          <a href={href} download={name}>
            {text}
          </a>{' '}
          <span className="quiet">JSON Lines</span>
        </li>
      ))}
    </ul>
  );
}
