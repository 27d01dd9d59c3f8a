import { useQuery } from '@tanstack/react-query';
import { getRouteApi } from '@tanstack/react-router';
import { type MouseEvent, useState } from 'react';
import { serverPath } from '../../api/base.ts';
import { chatModelsQuery } from '../../api/models.ts';
import { hasScope, useSession } from '../../api/session.ts';
import { Button } from '../../parts/button.tsx';
import { EmptyState } from '../../parts/empty-state.tsx';
import { QueryView } from '../../parts/query-view.tsx';
import { Screen, Section } from '../../parts/screen.tsx';
import { AnswerView } from './answer-view.tsx';
import { BatchNotice } from './batch-notice.tsx';
import { toBody } from './bodies.ts';
import { CodeView } from './code-view.tsx';
import { type Faults, readDraft } from './draft.ts';
import { costOf } from './measures.ts';
import css from './playground.module.css';
import { useSendAsBatch } from './queries.ts';
import { RequestForm } from './request-form.tsx';
import { defaults, type PlaygroundSearch } from './search.ts';
import { withTurn } from './turns.tsx';
import { useDraft } from './use-draft.ts';
import { useRun } from './use-run.ts';

const route = getRouteApi('/playground');
const noFaults: Faults = {};

/** Sends one request in one of the three formats, and shows the answer as it comes. */
export function Playground() {
  const models = useQuery(chatModelsQuery);
  return (
    <Screen title="Playground">
      <QueryView query={models} what="The models" rows={8}>
        {(list) =>
          list.length > 0 ? (
            <Workbench models={list} />
          ) : (
            <EmptyState title="No model answers chats here.">
              <p>Configure one, or use a key that may use one.</p>
              <a href={`${serverPath}docs/configuration`}>Models in the configuration</a>
            </EmptyState>
          )
        }
      </QueryView>
    </Screen>
  );
}

/** One button for both, so that it keeps the focus. */
function SendButton({ isRunning, onStop }: { isRunning: boolean; onStop: () => void }) {
  function stop(event: MouseEvent): void {
    // It is a button that sends by the time the click is over.
    event.preventDefault();
    onStop();
  }
  if (isRunning) return <Button onClick={stop}>Stop</Button>;
  return (
    <Button kind="primary" type="submit" title="Ctrl+Enter">
      Send
    </Button>
  );
}

type Models = Awaited<ReturnType<NonNullable<(typeof chatModelsQuery)['select']>>>;

function Workbench({ models }: { models: Models }) {
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const session = useSession();
  const [draft, changeDraft] = useDraft();
  const [isChecked, setChecked] = useState(false);
  const { run, start, stop } = useRun();
  const batch = useSendAsBatch();

  const { format = defaults.format, code = defaults.code } = search;
  const model = models.find(({ id, aliases }) => id === search.model || aliases.includes(search.model ?? ''));
  const name = (model ?? models[0]!).id;
  const reading = readDraft(draft);
  // Faults are shown from the first try to send on.
  const faults = 'faults' in reading ? reading.faults : noFaults;
  const setSearch = (changes: PlaygroundSearch) =>
    void navigate({ search: { ...search, ...changes }, replace: true });

  function send(): void {
    setChecked(true);
    if ('prompt' in reading) start(format, toBody(format, name, reading.prompt));
  }

  function sendAsBatch(): void {
    setChecked(true);
    if ('prompt' in reading) batch.mutate(toBody('chat', name, { ...reading.prompt, stream: false }));
  }

  const isRunning = run?.status === 'running';
  const usage = run?.answer.usage;
  const used = models.find(({ id }) => id === run?.body['model']);
  return (
    <div className={css.workbench}>
      <Section title="Request">
        <RequestForm
          format={format}
          model={name}
          models={models.map(({ id }) => id)}
          draft={draft}
          faults={isChecked ? faults : noFaults}
          onFormat={(next) => setSearch({ format: next })}
          onModel={(next) => setSearch({ model: next })}
          onDraft={changeDraft}
          onSend={send}
          actions={
            <>
              <SendButton isRunning={isRunning} onStop={stop} />
              {hasScope(session, 'batches') && (
                <Button isBusy={batch.isPending} onClick={sendAsBatch}>
                  Send as a batch line
                </Button>
              )}
            </>
          }
        />
        <BatchNotice batch={batch.data?.id} error={batch.error} />
      </Section>
      <div className={css.results}>
        <Section title="Answer">
          <AnswerView
            run={run}
            cost={usage && used ? costOf(usage, used.pricing) : null}
            onContinue={(text) => changeDraft({ turns: withTurn(withTurn(draft.turns, text)) })}
          />
        </Section>
        <Section title="The same in code">
          {'prompt' in reading ? (
            <CodeView
              language={code}
              format={format}
              body={toBody(format, name, reading.prompt)}
              onLanguage={(next) => setSearch({ code: next })}
            />
          ) : (
            <EmptyState title="The code appears when the request is complete." />
          )}
        </Section>
      </div>
    </div>
  );
}
