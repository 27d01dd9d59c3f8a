import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/code.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import type { NewKey } from './queries.ts';

/** Shows the secret of a new key, for the only time. */
export function Secret({ created, onClose }: { created: NewKey; onClose: () => void }) {
  return (
    <Dialog
      title={`Key ${created.name || created.id}`}
      onClose={onClose}
      actions={
        <Button kind="primary" onClick={onClose}>
          I have copied it
        </Button>
      }
    >
      <p>Copy the key now. The server stores only its hash, so the key cannot be shown again.</p>
      <Code label="API key" text={created.key} />
    </Dialog>
  );
}
