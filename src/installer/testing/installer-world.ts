import type { Installer } from '../installer.ts';

/** Report with which a test ends a run. */
export interface Ending {
  success: boolean;
  message: string;
  reason?: string;
  kubeconfig?: string;
}

/** Installer whose runs do nothing by themselves, and functions that control them. */
export interface InstallerWorld {
  installer: Installer;
  /** Lists the runs in the order in which they began; a run that began twice is in the list twice. */
  begun(): readonly string[];
  /** Lists the running runs. */
  atWork(): Promise<readonly string[]>;
  /** Logs that step as the run does. */
  tell(job: string, step: string): Promise<void>;
  /** Ends the run; `lost`: without a report. */
  end(job: string, report: Ending | 'lost'): Promise<void>;
  /** Deletes the run alone, like a user, and none of its other objects; resolves when the installer can know of it. */
  deleteByHand(job: string): Promise<void>;
  /** Whether any object contains that text. */
  keeps(text: string): Promise<boolean>;
  /** Lists the runs whose logs are kept. */
  logs(): Promise<readonly string[]>;
}
