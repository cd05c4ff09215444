import type { Clock, StopTimer } from '../../base/clock.ts';
import { keyOf } from '../../kube/names.ts';
import type { Event } from '../../kube/types.ts';
import {
  changeLine,
  eventLine,
  headerLines,
  jsonNotice,
  stoppingLine,
  welcomeLines,
  type Notice,
  type RowChange,
} from './report.ts';
import type { PodChange } from '../../app/running.ts';
import { finalLines, screenLines } from './screen.ts';
import type { Screen } from './table.ts';
import { type JobControl, LiveScreen, type Terminal } from './terminal.ts';
import { podKeyOf, podRow, type PodRow, rowWithEvent, withStopping } from './view-model.ts';

/** Reporter shows the user what happens; the implementation depends on the output. */
export interface Reporter {
  notice(notice: Notice): void;
  pod(change: PodChange): void;
  event(event: Event): void;
  /** Writes a log line to this reporter's output; absent: the log goes elsewhere. */
  log?(line: string): void;
  /** Shows the pods still running while all are being stopped. */
  progress(stillRunning: readonly string[], forced: boolean): void;
  close(): void;
}

/** The output and the clock. */
export interface ReporterDeps {
  readonly write: (text: string) => unknown;
  readonly clock: Clock;
}

/** How long changes of pods are gathered into one write, ms: a write of its own costs as much as a tenth of a pod's way. */
const gatherMs = 20;

/**
 * LineReporter prints a line for each change, as text or JSON. The first change after a pause is written at once; those of the next 20 ms
 * follow in one write.
 */
export class LineReporter implements Reporter {
  readonly #deps: ReporterDeps;
  readonly #json: boolean;
  readonly #rows = new Map<string, PodRow>();
  #gathered: string[] = [];
  #gathering: StopTimer | undefined;

  constructor(deps: ReporterDeps, json: boolean) {
    this.#deps = deps;
    this.#json = json;
  }

  notice(notice: Notice): void {
    if (this.#json) this.#lines([jsonNotice(notice, this.#deps.clock.now())]);
    else this.#lines(noticeLines(notice));
  }

  pod(change: PodChange): void {
    const line = changeLine(applyChange(this.#rows, change), this.#deps.clock.now(), this.#json);
    if (line === undefined) return;
    if (this.#gathering) this.#gathered.push(line);
    else {
      this.#lines([line]);
      this.#gathering = this.#deps.clock.timer(gatherMs, () => {
        this.#gathering = undefined;
        this.#lines([]);
      });
    }
  }

  event(event: Event): void {
    this.#lines([eventLine(event, this.#deps.clock.now(), this.#json)]);
  }

  progress(stillRunning: readonly string[], forced: boolean): void {
    if (this.#json) this.notice({ type: 'stopping', pods: stillRunning });
    else this.#lines([stoppingLine(stillRunning, forced)]);
  }

  close(): void {
    this.#gathering?.();
    this.#gathering = undefined;
    this.#lines([]);
  }

  /** Writes what was gathered, then `lines`: the order is that of the changes. */
  #lines(lines: readonly string[]): void {
    const all = [...this.#gathered, ...lines];
    this.#gathered = [];
    if (all.length > 0) this.#deps.write(`${all.join('\n')}\n`);
  }
}

/** Minimum interval between frames, ms: a burst of changes is one frame. */
const frameMs = 100;
/** Interval at which ages are updated. */
const ageMs = 1000;
/** Maximum number of notices that are kept for the end. */
const mostNotices = 200;

/** Dependencies of the live view. */
export interface TableDeps {
  readonly terminal: Terminal;
  readonly clock: Clock;
  readonly colour: boolean;
  /** Absent: the program cannot be suspended. */
  readonly jobs?: JobControl;
}

/** TableReporter shows the live table on a terminal. At the end the last state of all pods stays on it. */
export class TableReporter implements Reporter {
  readonly #deps: TableDeps;
  readonly #screen: LiveScreen;
  #rows = new Map<string, PodRow>();
  #header: readonly string[] = [];
  #notices: readonly string[] = [];
  #footer = 'Ctrl-C stops all pods and ends.';
  #frame: StopTimer | undefined;
  #age: StopTimer | undefined;
  #closed = false;
  readonly #offs: (() => void)[] = [];
  readonly #redraw = (): void => {
    this.#screen.forget();
    this.#draw();
  };

  constructor(deps: TableDeps) {
    this.#deps = deps;
    const { terminal, jobs } = deps;
    this.#screen = new LiveScreen(terminal);
    terminal.on('resize', this.#redraw);
    const leave = (): void => {
      this.#screen.leave();
    };
    if (jobs) this.#offs.push(jobs.onStop(leave), jobs.onContinue(this.#redraw), jobs.onExit(leave));
    this.#tick();
  }

  notice(notice: Notice): void {
    if (this.#closed) this.#deps.terminal.write(textOf(noticeLines(notice)));
    else if (notice.type === 'started') this.#started(notice);
    else this.#note(noticeLines(notice));
  }

  /** Shows a log line. */
  log(line: string): void {
    if (this.#closed) this.#deps.terminal.write(line);
    else this.#note([line.trimEnd()]);
  }

  pod(change: PodChange): void {
    applyChange(this.#rows, change);
    this.#soon();
  }

  event(event: Event): void {
    const row = this.#rows.get(podKeyOf(event) ?? '');
    if (!row) return;
    this.#rows.set(row.key, rowWithEvent(row, event));
    this.#soon();
  }

  progress(stillRunning: readonly string[], forced: boolean): void {
    this.#footer = stoppingLine(stillRunning, forced);
    this.#rows = withStopping(this.#rows, stillRunning);
    this.#soon();
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#frame?.();
    this.#age?.();
    this.#deps.terminal.off('resize', this.#redraw);
    for (const off of this.#offs) off();
    this.#screen.leave();
    const view = { model: this.#rows, notices: this.#notices };
    // A failed start has no state to show.
    const lines =
      this.#header.length === 0 ? this.#notices : finalLines(view, this.#deps.clock.now(), this.#size());
    this.#deps.terminal.write(textOf(lines));
  }

  /** Prints the welcome text before the live view, where its lines can be copied. */
  #started(notice: Extract<Notice, { type: 'started' }>): void {
    this.#screen.leave();
    this.#deps.terminal.write(textOf(noticeLines(notice)));
    this.#header = headerLines(notice);
    if (notice.kubeconfig === undefined || notice.joined === true)
      this.#footer = 'Ctrl-C ends; the pods run on.';
    this.#draw();
  }

  #note(lines: readonly string[]): void {
    this.#notices = [...this.#notices, ...lines].slice(-mostNotices);
    this.#soon();
  }

  #tick(): void {
    this.#age = this.#deps.clock.timer(ageMs, () => {
      this.#draw();
      this.#tick();
    });
  }

  #soon(): void {
    this.#frame ??= this.#deps.clock.timer(frameMs, () => {
      this.#frame = undefined;
      this.#draw();
    });
  }

  #draw(): void {
    const { clock, jobs } = this.#deps;
    if (this.#closed || jobs?.isForeground() === false) return;
    const view = {
      header: this.#header,
      model: this.#rows,
      notices: this.#notices,
      footer: this.#footer,
    };
    this.#screen.show(screenLines(view, clock.now(), this.#size()));
  }

  /** Returns the size of the terminal; 80 by 24 if unknown. */
  #size(): Screen {
    const { terminal, colour } = this.#deps;
    const { columns = 0, rows = 0 } = terminal;
    return { columns: columns > 0 ? columns : 80, rows: rows > 0 ? rows : 24, colour };
  }
}

const textOf = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('');

/** Applies a change to the rows in place: a node may have thousands of pods. Returns the pod's row before and after. */
function applyChange(rows: Map<string, PodRow>, change: PodChange): RowChange {
  const key = change.type === 'set' ? keyOf(change.pod) : change.key;
  const before = rows.get(key);
  const after = change.type === 'set' ? podRow(change.pod, before) : undefined;
  if (after) rows.set(key, after);
  else rows.delete(key);
  return { key, before, after };
}

function noticeLines(notice: Notice): readonly string[] {
  switch (notice.type) {
    case 'started':
      return welcomeLines(notice);
    case 'progress':
      return [notice.message];
    case 'problem':
      return [`problem: ${notice.source}: ${notice.message}`];
    case 'stopping':
      return [stoppingLine(notice.pods, false)];
    case 'stopped':
      return [
        notice.leftRunning
          ? 'Stopped. The pods run on; the next start finds them again.'
          : 'Stopped. Nothing runs any more; the next start brings the pods back.',
      ];
    case 'error':
      return [`error: ${notice.message}`];
  }
}
