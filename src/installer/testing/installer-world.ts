import type { Installer } from '../installer.ts';

/** The report with which a test ends a run. */
export interface Ending {
  success: boolean;
  message: string;
  reason?: string;
  kubeconfig?: string;
}

/** An installer whose runs do nothing by themselves, and a hand on everything around it. */
export interface InstallerWorld {
  installer: Installer;
  /** Names of runs, in the order in which they began to work; a run that began twice is there twice. */
  begun(): readonly string[];
  /** Names of runs that work now. */
  atWork(): Promise<readonly string[]>;
  /** The run tells its log that it is at that step. */
  tell(job: string, step: string): Promise<void>;
  /** The run ends; `lost`: without a word. */
  end(job: string, report: Ending | 'lost'): Promise<void>;
  /** Somebody deletes the run, and nothing else of what the installer made; then the installer can know of it. */
  deleteByHand(job: string): Promise<void>;
  /** Whether that text is kept anywhere. */
  keeps(text: string): Promise<boolean>;
  /** Names of runs whose logs are kept. */
  logs(): Promise<readonly string[]>;
}
