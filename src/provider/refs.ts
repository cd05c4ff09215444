/** Identifies one container of one pod; `id` has the form `type://id`. */
export interface ContainerRef {
  readonly podUid: string;
  readonly namespace: string;
  readonly pod: string;
  readonly container: string;
  readonly id: string;
}

/** Identifies one pod by UID, with its name and namespace. */
export interface PodRef {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
}
