import type { Clock, StopTimer } from '../../base/clock.ts';
import type { Event } from '../../kube/types.ts';
import { changeLines, eventLine, jsonNotice, stoppingLine, welcomeLines, type Notice } from './report.ts';
import type { PodChange } from '../../app/running.ts';
import { tableLines } from './table.ts';
import { LiveBlock, type Terminal } from './terminal.ts';
import { withEvent, withoutPod, withPod, type ViewModel } from './view-model.ts';

/** Tells the user what happens; which one depends on where the output goes. */
export interface Reporter {
  notice(notice: Notice): void;
  pod(change: PodChange): void;
  event(event: Event): void;
  /** The pods that still run while all are being stopped. */
  progress(stillRunning: readonly string[], forced: boolean): void;
  close(): void;
}

/** Where text goes and what the time is. */
export interface ReporterDeps {
  readonly write: (text: string) => unknown;
  readonly clock: Clock;
}

/** A line for each change: in plain words, or as one JSON object. */
export class LineReporter implements Reporter {
  readonly #deps: ReporterDeps;
  readonly #json: boolean;
  #model: ViewModel = new Map();

  constructor(deps: ReporterDeps, json: boolean) {
    this.#deps = deps;
    this.#json = json;
  }

  notice(notice: Notice): void {
    if (this.#json) this.#lines([jsonNotice(notice, this.#deps.clock.now())]);
    else this.#lines(noticeLines(notice));
  }

  pod(change: PodChange): void {
    const next = applied(this.#model, change);
    this.#lines(changeLines(this.#model, next, this.#deps.clock.now(), this.#json));
    this.#model = next;
  }

  event(event: Event): void {
    this.#lines([eventLine(event, this.#deps.clock.now(), this.#json)]);
  }

  progress(stillRunning: readonly string[], forced: boolean): void {
    if (this.#json) this.notice({ type: 'stopping', pods: stillRunning });
    else this.#lines([stoppingLine(stillRunning, forced)]);
  }

  close(): void {
    return;
  }

  #lines(lines: readonly string[]): void {
    if (lines.length > 0) this.#deps.write(`${lines.join('\n')}\n`);
  }
}

/** Not more often than this, ms: a burst of changes is one frame. */
const frameMs = 100;
/** Ages move on. */
const ageMs = 1000;

/** The live table on a terminal. */
export class TableReporter implements Reporter {
  readonly #terminal: Terminal;
  readonly #clock: Clock;
  readonly #colour: boolean;
  readonly #block: LiveBlock;
  #model: ViewModel = new Map();
  #footer = 'Ctrl-C stops all pods and ends.';
  #frame: StopTimer | undefined;
  #age: StopTimer | undefined;
  readonly #resized = (): void => {
    this.#soon();
  };

  constructor(terminal: Terminal, clock: Clock, colour: boolean) {
    this.#terminal = terminal;
    this.#clock = clock;
    this.#colour = colour;
    this.#block = new LiveBlock(terminal);
    terminal.on('resize', this.#resized);
    this.#tick();
  }

  notice(notice: Notice): void {
    this.#block.print(noticeLines(notice));
  }

  pod(change: PodChange): void {
    this.#model = applied(this.#model, change);
    this.#soon();
  }

  event(event: Event): void {
    this.#model = withEvent(this.#model, event);
    this.#soon();
  }

  progress(stillRunning: readonly string[], forced: boolean): void {
    this.#footer = stoppingLine(stillRunning, forced);
    this.#soon();
  }

  close(): void {
    this.#frame?.();
    this.#age?.();
    this.#terminal.off('resize', this.#resized);
    this.#draw();
    this.#block.end();
  }

  #tick(): void {
    this.#age = this.#clock.timer(ageMs, () => {
      this.#draw();
      this.#tick();
    });
  }

  #soon(): void {
    this.#frame ??= this.#clock.timer(frameMs, () => {
      this.#frame = undefined;
      this.#draw();
    });
  }

  #draw(): void {
    const screen = {
      columns: this.#terminal.columns ?? 80,
      rows: this.#terminal.rows ?? 24,
      colour: this.#colour,
    };
    const lines = tableLines(this.#model, this.#clock.now(), screen, 3);
    this.#block.show([...lines, '', this.#footer]);
  }
}

function applied(model: ViewModel, change: PodChange): ViewModel {
  return change.type === 'set' ? withPod(model, change.pod) : withoutPod(model, change.key);
}

function noticeLines(notice: Notice): readonly string[] {
  switch (notice.type) {
    case 'started':
      return welcomeLines(notice.kubeconfig, notice.server, notice.node);
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
