package main

// signalFigures measure the time from kill on a process, remote or not, until its parent has waited
// for it. A remote process has then ended on its node, or its ghost would still exist.
var signalFigures = []figure{
	{name: "signal.native", unit: "ms", measure: launch("kill-native", "200")},
	{name: "signal.latency", unit: "ms", base: "signal.native", measure: launch("kill-remote", "200")},
}
