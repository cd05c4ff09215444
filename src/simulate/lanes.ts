/** The number of passed tasks from which on their places are freed. */
const mostPassed = 1024;

/** Lanes runs tasks in the order in which they are added, at most a number of them at once. */
export class Lanes {
  readonly #width: number;
  readonly #waiting: (() => Promise<void>)[] = [];
  #running = 0;
  #next = 0;

  constructor(width: number) {
    this.#width = width;
  }

  /** The number of tasks that wait for a lane. */
  get waiting(): number {
    return this.#waiting.length - this.#next;
  }

  /** Runs a task when a lane is free; settles as the task does. */
  run<T>(task: () => Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      this.#waiting.push(() => task().then(resolve, reject));
      this.#fill();
    });
  }

  #fill(): void {
    while (this.#running < this.#width && this.#next < this.#waiting.length) {
      const task = this.#waiting[this.#next++];
      if (this.#next >= mostPassed) {
        this.#waiting.splice(0, this.#next);
        this.#next = 0;
      }
      if (!task) continue;
      this.#running += 1;
      void task().finally(() => {
        this.#running -= 1;
        this.#fill();
      });
    }
  }
}
