import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  type ActionKind,
  actionQuery,
  type ActionRequest,
  previewAction,
  startAction,
  stopAction,
} from '../api/batches.ts';
import { setPaused } from '../api/pause.ts';
import { Bar } from './bar.tsx';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { ErrorState } from './error-state.tsx';
import { count, counted } from './format.ts';
import { Loading } from './loading.tsx';
import { Popover } from './popover.tsx';
import css from './batch-actions.module.css';

const words: Readonly<Record<ActionKind, { name: string; verb: string; past: string; note: string }>> = {
  pause: {
    name: 'Pause',
    verb: 'Pause',
    past: 'paused',
    note: 'Requests in flight finish. The deadline stays.',
  },
  resume: {
    name: 'Resume',
    verb: 'Resume',
    past: 'resumed',
    note: 'They continue with their next requests.',
  },
  cancel: {
    name: 'Cancel',
    verb: 'Cancel',
    past: 'cancelled',
    note: 'Finished results are kept and billed. This cannot be undone.',
  },
  retry: {
    name: 'Retry failed requests',
    verb: 'Retry failed requests of',
    past: 'retried',
    note: 'Each gets a new batch with its failed requests.',
  },
};
const allKinds = Object.keys(words) as ActionKind[];

interface BatchActionsProps {
  /** Names what the actions change. */
  label: string;
  isAdmin: boolean;
  /** Batches by ids or by a filter. */
  target: Omit<ActionRequest, 'action'>;
  /** Actions offered; all if absent. An action that has begun stays on the screen without any. */
  kinds?: readonly ActionKind[];
}

/** Buttons for actions on batches. Each shows first what it would change. */
export function BatchActions({ label, isAdmin, target, kinds = allKinds }: BatchActionsProps) {
  const [action, setAction] = useState<ActionKind | null>(null);
  return (
    <>
      {kinds.length > 0 && (
        <div role="group" aria-label={label} className={css.actions}>
          <ActionButtons kinds={kinds} onChoose={setAction} />
        </div>
      )}
      {action && (
        <ActionDialog isAdmin={isAdmin} request={{ ...target, action }} onClose={() => setAction(null)} />
      )}
    </>
  );
}

/** The same behind one button, for actions that are seldom wanted. */
export function BatchActionsMenu({ label, isAdmin, target }: Omit<BatchActionsProps, 'kinds'>) {
  const [action, setAction] = useState<ActionKind | null>(null);
  return (
    <>
      <Popover label="Actions" title={label}>
        {(panelId) => (
          <div className={css.menu}>
            <p className="quiet">{label}</p>
            <ActionButtons
              kinds={allKinds}
              onChoose={(kind) => {
                // First: the dialog gives the focus back to the button that opened the panel.
                document.getElementById(panelId)?.hidePopover();
                setAction(kind);
              }}
            />
          </div>
        )}
      </Popover>
      {action && (
        <ActionDialog isAdmin={isAdmin} request={{ ...target, action }} onClose={() => setAction(null)} />
      )}
    </>
  );
}

interface ActionButtonsProps {
  kinds: readonly ActionKind[];
  onChoose: (kind: ActionKind) => void;
}

function ActionButtons({ kinds, onChoose }: ActionButtonsProps) {
  return kinds.map((kind) => (
    <Button key={kind} kind={kind === 'cancel' ? 'danger' : 'normal'} onClick={() => onChoose(kind)}>
      {words[kind].name}
    </Button>
  ));
}

interface ActionDialogProps {
  isAdmin: boolean;
  request: ActionRequest;
  onClose: () => void;
}

/** Preview of an action, then its progress, which goes on if the dialog is closed. */
function ActionDialog({ isAdmin, request, onClose }: ActionDialogProps) {
  const queries = useQueryClient();
  const { verb, note } = words[request.action];
  const preview = useQuery({
    queryKey: ['action preview', isAdmin, request],
    queryFn: () => previewAction(isAdmin, request),
    staleTime: 0,
    gcTime: 0,
  });
  const start = useMutation({
    mutationFn: () => startAction(isAdmin, request),
    onSuccess(action) {
      queries.setQueryData(actionQuery(isAdmin, action.id).queryKey, action);
      // The effect is to be seen.
      setPaused(false);
    },
  });
  if (start.data)
    return <ActionProgress isAdmin={isAdmin} id={start.data.id} kind={request.action} onClose={onClose} />;
  const changes = preview.data?.changes ?? 0;
  return (
    <Dialog
      title={`${verb} ${preview.data ? counted(changes, 'batch', 'batches') : '…'}`}
      onClose={onClose}
      actions={
        <>
          <Button onClick={onClose}>Close</Button>
          {changes > 0 && (
            <Button
              kind={request.action === 'cancel' ? 'danger' : 'primary'}
              isBusy={start.isPending}
              onClick={() => start.mutate()}
            >
              {verb} {counted(changes, 'batch', 'batches')}
            </Button>
          )}
        </>
      }
    >
      {preview.data && changes === 0 ? (
        <p>
          Nothing to do: of {counted(preview.data.matched, 'batch', 'batches')}, none can be{' '}
          {words[request.action].past} now.
        </p>
      ) : preview.data ? (
        <>
          <p>
            {counted(preview.data.matched, 'batch', 'batches')} chosen, {count(changes)} of them can be{' '}
            {words[request.action].past}: {counted(preview.data.requests, 'request')}.
          </p>
          <p className="quiet">{note}</p>
        </>
      ) : preview.error ? (
        <ErrorState error={preview.error} what="The preview" onRetry={() => void preview.refetch()} />
      ) : (
        <Loading what="the preview" rows={2} />
      )}
      {start.error && <p role="alert">{start.error.message}</p>}
    </Dialog>
  );
}

function ActionProgress({
  isAdmin,
  id,
  kind,
  onClose,
}: {
  isAdmin: boolean;
  id: string;
  kind: ActionKind;
  onClose: () => void;
}) {
  const { data: action } = useQuery(actionQuery(isAdmin, id));
  const stop = useMutation({ mutationFn: () => stopAction(isAdmin, id) });
  if (!action) return null;
  const { total, done, failed, skipped, status, failures } = action;
  const isRunning = status === 'running';
  const text = `${count(done)} of ${count(total)} ${words[kind].past}, ${count(failed)} failed, ${count(skipped)} skipped`;
  return (
    <Dialog
      title={
        isRunning
          ? `${words[kind].verb} ${counted(total, 'batch', 'batches')}`
          : status === 'completed'
            ? 'Done'
            : 'Stopped'
      }
      onClose={onClose}
      actions={
        <>
          {isRunning && (
            <Button onClick={() => stop.mutate()} isBusy={stop.isPending}>
              Stop
            </Button>
          )}
          <Button kind="primary" onClick={onClose}>
            Close
          </Button>
        </>
      }
    >
      <Bar
        label={text}
        total={total}
        parts={[
          { kind: 'done', value: done + skipped },
          { kind: 'failed', value: failed },
        ]}
      />
      <p role="status">{text}.</p>
      {failures.length > 0 && (
        <ul className={css.failures}>
          {failures.map(({ batch_id: batchId, message }) => (
            <li key={batchId}>
              <code>{batchId}</code> {message}
            </li>
          ))}
        </ul>
      )}
    </Dialog>
  );
}
