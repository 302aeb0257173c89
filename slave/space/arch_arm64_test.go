package space_test

const arch32 = "arm"
