import { useMutation } from '@tanstack/react-query';
import { Button } from '../../parts/button.tsx';
import { usageCsv } from './queries.ts';

interface DownloadProps {
  report: Parameters<typeof usageCsv>[0];
}

/** Button that saves the usage of the screen as CSV. */
export function Download({ report }: DownloadProps) {
  const download = useMutation({
    mutationFn: () => usageCsv(report),
    onSuccess: (csv) => save(csv, `usage-${report.start}-${report.end}-by-${report.by}.csv`),
  });
  return (
    <>
      <Button onClick={() => download.mutate()} isBusy={download.isPending}>
        Download CSV
      </Button>
      {download.isError && <span role="alert">The CSV could not be loaded: {download.error.message}</span>}
    </>
  );
}

function save(file: Blob, name: string): void {
  const link = document.createElement('a');
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  // The browser has taken the file by the next task.
  setTimeout(() => URL.revokeObjectURL(link.href));
}
